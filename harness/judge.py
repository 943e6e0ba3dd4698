"""The policy as the pipeline needs it, and how its verdicts read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from policies import Command, Decision, Isolation, Plan, Verdict

__all__ = ["Judge", "denial_text", "strictest"]


_WORDS = tuple(decision.label for decision in Decision)
_LEVELS = tuple(level.label for level in Isolation)

DENIAL_CHARACTERS = 500
"""What the model reads of a denial at most."""


class Judge(Protocol):
    """Says what may run. A ``policies.Policy`` is one."""

    def judge(self, command: Command, *, root: str = ...) -> Verdict:
        """The verdict on one command."""
        ...

    def judge_plan(self, plan: Plan, *, root: str = ...) -> Verdict:
        """The verdict on a plan, with those on its stages."""
        ...

    def judge_tool(self, name: str, paths: Sequence[str] = (), *, root: str = ...) -> Verdict:
        """The verdict on a tool with its path arguments."""
        ...


def strictest(verdicts: Sequence[Verdict]) -> Verdict:
    """The one that decides: the first of the strictest."""
    if len(verdicts) == 1:
        return verdicts[0]
    return max(verdicts, key=lambda verdict: verdict.decision)


def denial_text(verdict: Verdict) -> str:
    """Why not, for the model: the policy's sentence and its reason code."""
    message = verdict.message or "the policy does not allow it"
    if len(message) > DENIAL_CHARACTERS:  # what is at fault stands in front, long lines behind
        message = message[:DENIAL_CHARACTERS].rstrip() + " ..."
    return f"{message} [{verdict.reason}]" if verdict.reason else message


def verdict_fields(verdict: Verdict) -> dict[str, Any]:
    """A verdict as the record keeps it; what says nothing is left out."""
    fields: dict[str, Any] = {"decision": _WORDS[verdict.decision], "reason": verdict.reason}
    if verdict.message:
        fields["message"] = verdict.message
    if verdict.rule is not None:
        fields["rule"] = verdict.rule
    if verdict.line is not None:
        fields["line"] = verdict.line
    if verdict.word >= 0:
        fields["word"] = verdict.word
    if verdict.stage:
        fields["stage"] = verdict.stage
    if verdict.runs_code:
        fields["runs_code"] = True
    if verdict.decision is not Decision.DENY:
        isolation = verdict.conditions.isolation
        if isolation:
            fields["isolation"] = _LEVELS[isolation]
    return fields
