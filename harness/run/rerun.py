"""A recorded run once more in a box: the recorded answers, the same programs, compared."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.artifact import ArtifactStore
from harness.errors import ConfigError
from harness.run.audience import Audience
from harness.run.flow import begin_session, open_box, workspace_of
from harness.run.folder import RunFolder, new_id
from harness.run.furnish import furnish
from harness.run.health import await_health
from harness.run.job import Job, make_job
from harness.run.stop import Stop
from harness.run.work import begin
from runners.workspace import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from harness.replay import Replayed

__all__ = ["job_again", "rerun"]


def job_again(folder: RunFolder) -> Job:
    """What the run was asked for, without anything that would leave a trace of the repetition."""
    options = folder.read_options()
    if options is None:
        raise ConfigError(
            f"{folder.id}: options.json is missing, so nobody knows its workspace; "
            "without --box it can be replayed"
        )
    box = replace(options.box, patch=None, apply=False)
    options = replace(options, box=box, in_place=False, out=None, locked=False, key=None)
    job = make_job(options)
    if job.task.steps:
        raise ConfigError(f"{folder.id}: a task in steps is not replayed in a box")
    return job


async def rerun(
    folder: RunFolder,
    records: Sequence[Mapping[str, Any]],
    *,
    audience: Audience,
    stop: Stop,
    accept_drift: bool = False,
) -> Replayed:
    """Run the recorded calls in a fresh session, and give what came out otherwise.

    The session must be made of what the run was made of (`lock.json`), else ConfigError;
    ``accept_drift`` goes on all the same. Nothing of it is kept.
    """
    from harness.replay import replay

    job = job_again(folder)
    lock = None if accept_drift else folder.read_lock()
    earlier = None if lock is None else (folder.lock, lock)
    run = new_id()
    with scratch_folder("replay") as scratch:
        place = RunFolder.create(run, scratch / run)
        with begin(run, place, audience, stop) as work, stop.interruptible():
            job = await furnish(job, work)
            box = await open_box(job, work)
            try:
                session = await begin_session(job, work, box, workspace_of(job, work), earlier)
                await await_health(session, work, job.task.healthcheck)
                artifacts = ArtifactStore(place.artifacts)
                return await replay(records, job.policy, session=session, artifacts=artifacts)
            finally:
                await box.close()
