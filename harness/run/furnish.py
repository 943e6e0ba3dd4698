"""Fills in what a task leaves to its image: the image itself, the workspace, its place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from harness.run.image import built_image, files_of_image, mapped
from harness.run.job import Job
from harness.run.work import Work, tell
from harness.task import Place
from runners import SessionSpec

__all__ = ["furnish", "spec_of_place"]


async def furnish(job: Job, work: Work) -> Job:
    """The job with its image built and its workspace found."""
    wish = job.wish
    if wish.dockerfile is not None:
        name = await built_image(wish.dockerfile, job.images, teller(work))
        wish = replace(wish, image=name, dockerfile=None)
    task, workspace = job.task, job.workspace
    own = task.image is None and (task.docker_image or task.dockerfile)
    if workspace is None and own and job.options.box.image is None:
        workspace = await files_of_image(wish.image, task.workdir)
    return replace(job, wish=wish, workspace=workspace)


async def spec_of_place(job: Job, work: Work, spec: SessionSpec, place: Place) -> SessionSpec:
    """The session of a verifier that has a box of its own."""
    image = place.image or mapped(place.docker_image, job.images)
    if image is None and place.dockerfile is not None:
        image = await built_image(place.dockerfile, job.images, teller(work))
    limits = replace(
        spec.limits,
        memory_mib=min(spec.limits.memory_mib, place.memory_mib or spec.limits.memory_mib),
        disk_mib=min(spec.limits.disk_mib, place.disk_mib or spec.limits.disk_mib),
    )
    return replace(
        spec,
        image=job.options.box.image or image or spec.image,
        workspace=place.workdir or spec.workspace,
        env=place.env,
        limits=limits,
    )


def teller(work: Work) -> Callable[[str], None]:
    """Records progress that comes from another thread."""
    loop = asyncio.get_running_loop()

    def told(line: str) -> None:
        loop.call_soon_threadsafe(tell, work, "image", line)

    return told
