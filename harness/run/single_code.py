"""The exit code of ``stockade exec``: the program's own, or why there is none."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from policies import Decision
from runners import Ending, Outcome

if TYPE_CHECKING:
    from harness.action import Performed

__all__ = ["outcome_code", "single_code"]

TIMED_OUT = 124
FAILED = 125
DENIED = 126
NOT_FOUND = 127
KILLED_BY_LIMIT = 137

LIMIT_SIGNALS = {signal.SIGXCPU: "cpu_seconds", signal.SIGXFSZ: "file_mib"}


def single_code(performed: Performed) -> int:
    """The code for a judged, and perhaps run, command."""
    if performed.verdict.decision is not Decision.ALLOW:
        return NOT_FOUND if performed.verdict.reason == "no-such-program" else DENIED
    outcome = performed.outcome
    return FAILED if outcome is None else outcome_code(outcome)


def outcome_code(outcome: Outcome) -> int:
    """The code for what one call came to."""
    match outcome.ending:
        case Ending.TIMED_OUT:
            return TIMED_OUT
        case Ending.KILLED_BY_LIMIT:
            return KILLED_BY_LIMIT
        case Ending.EXITED if outcome.code is not None:
            return outcome.code
        case Ending.SIGNALLED if outcome.signal is not None:
            return KILLED_BY_LIMIT if by_limit(outcome) else 128 + outcome.signal
        case _:
            return FAILED


def by_limit(outcome: Outcome) -> bool:
    """Whether the signal was the kernel's answer to a limit of ours."""
    try:
        limit = LIMIT_SIGNALS.get(signal.Signals(outcome.signal or 0))
    except ValueError:
        return False
    return limit is not None and any(hit.limit == limit for hit in outcome.limits_hit)
