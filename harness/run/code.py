"""The exit code of a run: the first of decision 7's cases that applies."""

from __future__ import annotations

from typing import Literal

from harness.verify import Verdict

__all__ = ["Status", "exit_code"]

Status = Literal[
    "completed",
    "step_limit",
    "tool_limit",
    "time_limit",
    "token_limit",
    "aborted",
    "model_error",
    "infrastructure",
]

BUDGET = frozenset({"step_limit", "tool_limit", "time_limit", "token_limit"})


def exit_code(
    status: Status,
    verdict: Verdict,
    *,
    stopped: int | None = None,
    denials: int = 0,
    unanswered: int = 0,
    fail_on_denial: bool = False,
) -> int:
    """What ``stockade run`` exits with.

    Args:
        status: how the agent ended.
        verdict: what the verification found; ``none`` where there was none.
        stopped: 130 or 143 where a signal ended the run.
        denials: calls that the policy denied.
        unanswered: calls that needed a yes nobody could give.
        fail_on_denial: a denial spoils a run that is otherwise fine.
    """
    if stopped is not None or status == "aborted":
        return stopped or 130
    if status == "infrastructure":
        return 3
    if verdict == "broken":
        return 8
    if status == "model_error":
        return 7
    fine = 4 if fail_on_denial and denials else 0
    if verdict == "passed":
        return fine
    if status in BUDGET:
        return 6
    if unanswered:
        return 5
    return fine if verdict == "none" else 1
