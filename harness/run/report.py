"""The result of a run, as ``result.json`` has it (decision 6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.run.code import Status, exit_code
from harness.run.folder import RunFolder
from harness.verify import Verification

if TYPE_CHECKING:
    from harness.run.agent import Ended

__all__ = ["Report", "State", "keep"]

SCHEMA = 1
NOT_VERIFIED = Verification("none", "nothing was verified")


@dataclass(slots=True)
class State:
    """What is known of a run so far; it is complete at any moment, whatever ends the run.

    Attributes:
        status: how the run stands; ``infrastructure`` until the agent has ended.
        facts: further keys of ``result.json``.
        code: an exit code that stands above the table (2: the operator's mistake).
    """

    task: str
    status: Status = "infrastructure"
    verification: Verification = NOT_VERIFIED
    spent: dict[str, Any] = field(default_factory=dict)
    answer: str | None = None
    denials: int = 0
    unanswered: int = 0
    error: str | None = None
    stopped: int | None = None
    code: int | None = None
    fail_on_denial: bool = False
    patch: bytes = b""
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """By the table, unless something stands above it."""
        if self.code is not None and self.stopped is None:
            return self.code
        return exit_code(
            self.status,
            self.verification.verdict,
            stopped=self.stopped,
            denials=self.denials,
            unanswered=self.unanswered,
            fail_on_denial=self.fail_on_denial,
        )

    def record(self, run: str) -> dict[str, Any]:
        """The keys that scripts rely on, then the rest."""
        return {
            "schema": SCHEMA,
            "run": run,
            "task": self.task,
            "status": self.status,
            "verdict": self.verification.verdict,
            "reward": self.verification.reward,
            "spent": self.spent,
            "exit_code": self.exit_code,
            "answer": self.answer,
            "error": self.error,
            "denials": self.denials,
            "unanswered": self.unanswered,
            "verification": self.verification.record(),
            **self.facts,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """A finished run.

    Attributes:
        record: what ``result.json`` holds.
        folder: where everything is.
        patch: the changes, b"" where there are none.
    """

    record: dict[str, Any]
    folder: RunFolder
    patch: bytes

    @property
    def exit_code(self) -> int:
        """What the command exits with."""
        code: int = self.record["exit_code"]
        return code


def keep(state: State, ended: Ended) -> None:
    """Note how the agent ended; of several steps, what was spent and denied adds up."""
    state.status = ended.status
    state.answer = ended.answer
    state.error = ended.error
    state.spent = added(state.spent, ended.spent)
    state.denials += ended.denials
    state.unanswered += ended.unanswered


def added(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    """Two records of what was spent, as one."""
    made = dict(one)
    for key, value in two.items():
        if isinstance(value, dict):
            made[key] = added(made.get(key, {}), value)
        else:
            made[key] = round(made.get(key, 0) + value, 6)
    return made
