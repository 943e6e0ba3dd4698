from __future__ import annotations

import pytest

from harness.run.accepted import accept
from policies import Command, Isolation, Pipeline, Plan, Stage, load

COMMAND = Command(("python3", "x.py"))


@pytest.fixture(scope="module")
def policy():
    return load("python-dev")


def test_an_accepted_level_is_all_that_a_verdict_asks_for(policy) -> None:
    verdict = accept(policy, Isolation.PROCESS).judge(COMMAND)
    assert (verdict.decision, verdict.conditions.isolation) == (
        policy.judge(COMMAND).decision,
        Isolation.PROCESS,
    )


def test_every_stage_of_a_plan_is_lowered(policy) -> None:
    plan = Plan((Pipeline((Stage(("cat", "a")), Stage(("sort",)))),))
    verdict = accept(policy, Isolation.PROCESS).judge_plan(plan)
    levels = {one.conditions.isolation for one in (verdict, *verdict.stages)}
    assert levels == {Isolation.PROCESS}


def test_accepting_more_than_is_asked_for_changes_nothing(policy) -> None:
    assert accept(policy, Isolation.KERNEL).judge(COMMAND) == policy.judge(COMMAND)


def test_what_is_denied_stays_denied(policy) -> None:
    command = Command(("nosuch",))
    lowered, verdict = accept(policy, Isolation.PROCESS).judge(command), policy.judge(command)
    assert (lowered.decision, lowered.reason) == (verdict.decision, verdict.reason)


def test_tools_are_judged_as_before(policy) -> None:
    judged = accept(policy, Isolation.PROCESS).judge_tool("write_file", ["a"])
    assert judged.decision == policy.judge_tool("write_file", ["a"]).decision


def test_the_policy_still_says_what_it_asks_for(policy) -> None:
    lowered = accept(policy, Isolation.PROCESS)
    assert (lowered.isolation, lowered.digest) == (policy.isolation, policy.digest)
