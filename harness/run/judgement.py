"""Verifies what an agent left, in a fresh session."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from harness.event import VerifyEnd, VerifyStart
from harness.run.box import Box, sized
from harness.run.furnish import spec_of_place
from harness.run.job import Job
from harness.run.outgoing import Changes
from harness.run.work import Work, tell
from harness.verify import Verification, set_scene, verify

__all__ = ["judge"]


async def judge(
    job: Job, work: Work, box: Box, changes: Changes, published: Path | None = None
) -> Verification:
    """Verify a result by the task's check.

    Args:
        job: its task says how.
        work: the run.
        box: where a session can be opened.
        changes: what came out of the agent's box.
        published: what the agent's box left to be kept; the verifier finds it where it was.
    """
    check = job.task.check
    assert check is not None
    if not changes.out.complete:
        return Verification("failed", "the result is too large to come out of the box")
    scene = set_scene(check, job.task.tests, changes.copied, changes.out)
    work.events.emit(VerifyStart({"argv": list(check.argv), "tests": list(check.tests)}))
    spec = box.spec
    if check.place is not None:
        spec = await spec_of_place(job, work, spec, check.place)
    spec = sized(spec, changes.out.tree.size, partial(tell, work, "weaker"))
    session = await box.open(spec)
    try:
        found = await verify(session, check, scene, job.limits, published=published)
    finally:
        await box.close_one(session)
    work.events.emit(VerifyEnd({**found.record(), "output": found.output}))
    return found
