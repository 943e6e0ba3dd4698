"""Create, attach, start, in this order; whatever fails leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib

from runners.docker.assess import warning_problem
from runners.docker.attach import attach
from runners.docker.channel import AttachChannel
from runners.docker.engine import Engine
from runners.docker.fault import EngineFaultError
from runners.docker.spec import ContainerOptions, container_spec
from runners.docker.stream import dial
from runners.docker.volume import make_volume, remove_volume
from runners.errors import RunnerError, StartError, UnavailableError

__all__ = ["clear", "is_transient", "start"]

START_SECONDS = 60.0
"""From create to started; a start that takes longer ends in removal."""


async def start(
    engine: Engine, options: ContainerOptions, name: str, *, brief: bool = False
) -> AttachChannel:
    """The channel of a fresh container's first process.

    A brief one is closed when that process is gone: the engine removes the container by itself.
    """
    try:
        async with asyncio.timeout(START_SECONDS):
            if options.on_disk:
                await make_volume(engine, options, options.on_disk)
            return await start_container(engine, options, name, brief=brief)
    except BaseException as error:
        await asyncio.shield(clear(engine, options))
        if isinstance(error, TimeoutError):
            raise StartError(
                f"the container did not start within {START_SECONDS:.0f} s; it was removed"
            ) from None
        raise


async def start_container(
    engine: Engine, options: ContainerOptions, name: str, *, brief: bool
) -> AttachChannel:
    """The same for the container alone."""
    creation = asyncio.ensure_future(engine.create(container_spec(options), name))
    stream = None
    try:
        container, warnings = await asyncio.shield(creation)
        problem = warning_problem(warnings)
        if problem:
            raise UnavailableError(f"the engine dropped a limit: {problem}")
        stream = await dial(engine.endpoint)
        await attach(stream, await engine.api_version(), container)
        await engine.start(container)
        return AttachChannel(engine, stream, container, brief=brief)
    except BaseException:
        if stream is not None:
            await stream.close()
        await asyncio.shield(abandon(engine, creation, name))
        raise


async def abandon(
    engine: Engine, creation: asyncio.Future[tuple[str, list[str]]], name: str
) -> None:
    """Remove a container whose start failed, also when its creation is still under way."""
    await asyncio.wait([creation])
    if creation.exception() is None or is_transient(creation.exception()):
        await engine.remove(name)


async def clear(engine: Engine, options: ContainerOptions) -> None:
    """Remove what a box has beside its container; what cannot be removed now is swept later."""
    if options.on_disk:
        with contextlib.suppress(RunnerError):
            await remove_volume(engine, options.on_disk)


def is_transient(error: BaseException | None) -> bool:
    """Whether the same call may work a moment later."""
    return isinstance(error, EngineFaultError) and error.transient
