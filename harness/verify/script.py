"""Verification by the task's own ``tests/test.sh``, which writes a reward file."""

from __future__ import annotations

from harness.printed import tail
from harness.task import Check
from harness.verify.place import task_environment
from harness.verify.reward import RewardError, read_reward
from harness.verify.verification import Verification
from policies import Limits, Pipeline, Stage
from runners import Ending, Session

__all__ = ["verify_by_script"]


async def verify_by_script(session: Session, check: Check, limits: Limits) -> Verification:
    """Run the script in the workspace, then read the reward."""
    environment = task_environment(session)
    logs = environment["STOCKADE_LOGS"]
    folders = ("mkdir", "-p", f"{logs}/verifier", f"{logs}/agent", f"{logs}/artifacts")
    await session.run(Pipeline((Stage(folders),)))
    script = f"{environment['STOCKADE_TESTS']}/test.sh"
    outcome = await session.run(
        Pipeline((Stage(("bash", script)),)),
        env={**environment, **dict(check.env)},
        limits=limits,
    )
    output = tail(outcome)
    if outcome.start_error:
        return Verification("broken", f"bash cannot start: {outcome.start_error}", output=output)
    if outcome.ending is Ending.TIMED_OUT:
        reason = f"tests/test.sh ran into its time limit of {limits.wall_seconds:g} s"
        return Verification("failed", reason, output=output)
    try:
        reward = await read_reward(session)
    except RewardError as error:
        return Verification("broken", str(error), output=output)
    shortfall = reward.shortfall(check.min_reward)
    if not shortfall:
        return Verification("passed", "the reward reaches the bar", reward.single, output=output)
    return Verification("failed", shortfall, reward.single, output=output)
