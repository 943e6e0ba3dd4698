"""What a verification found, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Finding", "Verdict", "Verification"]

Verdict = Literal["passed", "failed", "broken", "none"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A start-up file that the agent added or changed.

    Attributes:
        path: relative to the workspace.
        reason: why it could change what the tests report.
        left_out: it was not there, or as it was before, when the tests ran.
    """

    path: str
    reason: str
    left_out: bool


@dataclass(frozen=True, slots=True)
class Verification:
    """A verdict with its grounds.

    Attributes:
        verdict: passed, failed, broken or none.
        reason: one sentence.
        reward: a number, numbers by name, or None.
        missing: IDs that were to be reported as passed and were not.
        findings: start-up files that the agent added or changed.
        output: the end of what the verifier printed.
    """

    verdict: Verdict
    reason: str
    reward: float | dict[str, float] | None = None
    missing: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = field(default=())
    output: str = ""

    def record(self) -> dict[str, Any]:
        """For ``result.json``."""
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "reward": self.reward,
            "missing": list(self.missing),
            "findings": [
                {"path": one.path, "reason": one.reason, "left_out": one.left_out}
                for one in self.findings
            ],
        }
