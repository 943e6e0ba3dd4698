"""What came of an action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from policies import Decision, Plan, Verdict
from runners import Ending, Outcome

__all__ = ["Performed", "StepDone"]


@dataclass(frozen=True, slots=True)
class StepDone:
    """One step of a plan.

    Attributes:
        index: of the step in the plan.
        outcome: of a pipeline that ran, else None.
        skipped: a link left it out, or the plan had ended.
        problem: why the plan ended here without running it, else "".
    """

    index: int
    outcome: Outcome | None = None
    skipped: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Performed:
    """What came of an action.

    Attributes:
        verdict: the one that decided; a denial on a closer look stands here too.
        plan: what was asked for; None when the line could not be read.
        steps: one for each step of the plan, in order; empty when nothing was started.
        asked: a question was put.
        unanswered: nobody answered it.
    """

    verdict: Verdict
    plan: Plan | None = None
    steps: tuple[StepDone, ...] = ()
    asked: bool = False
    unanswered: bool = False

    @property
    def denied(self) -> bool:
        """Whether it was refused, at the start or at a later step."""
        return self.verdict.decision is not Decision.ALLOW

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Of the pipelines that ran, in order."""
        return tuple(step.outcome for step in self.steps if step.outcome is not None)

    @property
    def outcome(self) -> Outcome | None:
        """Of the last pipeline that ran: its code counts."""
        outcomes = self.outcomes
        return outcomes[-1] if outcomes else None

    @property
    def codes(self) -> tuple[tuple[int, ...], ...]:
        """The codes of all stages of all pipelines that ran."""
        return tuple(outcome.codes for outcome in self.outcomes)

    @property
    def problem(self) -> str:
        """Why the plan ended early, or ""."""
        return next((step.problem for step in self.steps if step.problem), "")

    def facts(self) -> dict[str, Any]:
        """The plain form for a log: everything but the output itself."""
        facts: dict[str, Any] = {"outcomes": [outcome_facts(one) for one in self.outcomes]}
        if self.problem:
            facts["problem"] = self.problem
        skipped = [step.index for step in self.steps if step.skipped]
        if skipped:
            facts["skipped"] = skipped
        return facts


def outcome_facts(outcome: Outcome) -> dict[str, Any]:
    """An outcome without its output; what was not measured is absent."""
    facts: dict[str, Any] = {
        "ending": outcome.ending.value,
        "code": outcome.code,
        "signal": outcome.signal,
        "limit": outcome.limit,
        "limits_hit": [
            {"limit": hit.limit, "evidence": hit.evidence} for hit in outcome.limits_hit
        ],
        "codes": list(outcome.codes),
        "start_error": outcome.start_error,
        "wall_seconds": round(outcome.wall_seconds, 6),
        "cpu_seconds": round(outcome.cpu_seconds, 6),
        "peak_memory_bytes": outcome.peak_memory_bytes,
        "stdout_bytes": outcome.stdout.total,
        "stderr_bytes": outcome.stderr.total,
    }
    return {key: value for key, value in facts.items() if value not in (None, "", [])}


def succeeded(outcome: Outcome) -> bool:
    """Whether ``&&`` goes on after it."""
    return outcome.ok


def ends_plan(outcome: Outcome) -> str:
    """Why nothing may follow an outcome, or ""."""
    if outcome.ending is Ending.TIMED_OUT:
        return "the time limit of the call is spent"
    if outcome.ending in (Ending.CANCELLED, Ending.LOST):
        return f"the call was {outcome.ending.value}"
    if outcome.limit == "cpu_seconds":
        return "the CPU limit of the call is spent"
    return ""
