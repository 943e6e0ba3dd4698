"""The harness's side of the conversation with a supervisor."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from policies import Isolation
from runners.channel import Channel
from runners.client.link import Link
from runners.client.session import SupervisedSession
from runners.errors import StartError
from runners.setup import Setup

__all__ = ["SupervisedSession", "connect"]

START_SECONDS = 30.0


async def connect(  # noqa: PLR0913 - each box differs in all of them
    channel: Channel,
    setup: Setup,
    *,
    id: str,  # noqa: A002 - the contract's word
    isolation: Isolation,
    image: Mapping[str, str],
    on_close: Callable[[], Awaitable[None]] | None = None,
    start_seconds: float = START_SECONDS,
    entered: asyncio.Task[None] | None = None,
) -> SupervisedSession:
    """Send the supervisor into a box that waits for it, and open the session.

    The box runs ``payload().argv(python)`` with the channel as its standard input and output.
    It gets its settings when ``entered`` is done. StartError when no supervisor answers; the
    channel is closed then, and ``on_close`` was called.
    """
    link = Link(channel, setup)
    try:
        async with asyncio.timeout(start_seconds):
            facts = await link.start(entered)
    except BaseException as error:
        await link.close()
        if on_close is not None:
            await on_close()
        if isinstance(error, TimeoutError):
            said = channel.diagnosis()
            text = f"no supervisor answered within {start_seconds:g} seconds"
            raise StartError(f"{text}; {said}" if said else text) from None
        raise
    return SupervisedSession(
        link, setup, id=id, isolation=isolation, image=image, facts=facts, on_close=on_close
    )
