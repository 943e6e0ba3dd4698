"""Reading an archive that is to be sent: a file, or a pipe that somebody writes meanwhile."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from typing import BinaryIO

from runners.supervisor import frames

__all__ = ["pieces"]

FILE_CHUNK = 1 << 20


async def pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    """All of a file that was opened just for this."""
    descriptor = file.fileno()
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        while data := await asyncio.to_thread(file.read, FILE_CHUNK):
            yield data
        return
    # Without a thread: it would share the interpreter with the one that writes the archive.
    os.set_blocking(descriptor, False)
    while True:
        try:
            data = os.read(descriptor, frames.BODY_MAX)
        except BlockingIOError:
            await readable(descriptor)
            continue
        if not data:
            return
        yield data


def told(waiting: asyncio.Future[None]) -> None:
    """Once is enough."""
    if not waiting.done():
        waiting.set_result(None)


async def readable(descriptor: int) -> None:
    """Wait until a read has something to say."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, told, waiting)
    try:
        await waiting
    finally:
        loop.remove_reader(descriptor)
