from __future__ import annotations

import signal

import pytest

from harness.action import Performed, StepDone
from harness.run.single_code import outcome_code, single_code
from policies import Decision, Verdict
from runners import Ending, LimitHit, Outcome

CPU = LimitHit("cpu_seconds", "signal")


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (Outcome(Ending.EXITED, 0), 0),
        (Outcome(Ending.EXITED, 7), 7),
        (Outcome(Ending.EXITED, 127, start_error="no such program"), 127),
        (Outcome(Ending.SIGNALLED, signal=signal.SIGTERM), 143),
        (Outcome(Ending.SIGNALLED, signal=signal.SIGXCPU, limits_hit=(CPU,)), 137),
        (Outcome(Ending.SIGNALLED, signal=signal.SIGXCPU), 128 + signal.SIGXCPU),
        (Outcome(Ending.TIMED_OUT), 124),
        (Outcome(Ending.KILLED_BY_LIMIT, limit="memory_mib"), 137),
        (Outcome(Ending.LOST), 125),
    ],
)
def test_an_outcome_has_one_exit_code(outcome: Outcome, code: int) -> None:
    assert outcome_code(outcome) == code


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        (Verdict(Decision.DENY, "option"), 126),
        (Verdict(Decision.DENY, "approval-unavailable"), 126),
        (Verdict(Decision.DENY, "no-such-program"), 127),
    ],
)
def test_a_denial_has_one_exit_code(verdict: Verdict, code: int) -> None:
    assert single_code(Performed(verdict)) == code


def test_the_last_pipeline_that_ran_decides() -> None:
    steps = (StepDone(0, Outcome(Ending.EXITED, 1)), StepDone(1, Outcome(Ending.EXITED, 5)))
    assert single_code(Performed(Verdict(Decision.ALLOW, "ok"), None, steps)) == 5
