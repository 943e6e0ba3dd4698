"""A path socket on this machine for an engine behind ssh, so that the SDK can be its client.

Each connection is one ``ssh HOST docker system dial-stdio``, as the docker command does it. The
SDK's own way needs another library, whose keys and known hosts are not those of ssh.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from pathlib import Path

from runners.docker.endpoint import Endpoint
from runners.docker.stream import Stream, dial
from runners.errors import RunnerError

__all__ = ["Bridge"]

CHUNK_BYTES = 1 << 16


class Bridge:
    """Listens in a folder that only this user can enter."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._folder = Path(tempfile.mkdtemp(prefix="stockade-"))
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> Endpoint:
        """Begin to listen; where."""
        path = str(self._folder / "engine")
        self._server = await asyncio.start_unix_server(self._serve, path)
        return Endpoint("unix", path, self._endpoint.url)

    async def close(self) -> None:
        """Listen no more and end all connections."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        near = Stream(reader, writer)
        try:
            far = await dial(self._endpoint)
            try:
                await join(near, far)
            finally:
                await far.close()
        except (RunnerError, OSError, asyncio.CancelledError):
            return  # the SDK sees that its connection ended
        finally:
            await near.close()
            self._tasks.discard(task)


async def join(one: Stream, other: Stream) -> None:
    """Copy both ways until one side ends."""
    async with asyncio.TaskGroup() as group:
        there = group.create_task(copy(one, other))
        back = group.create_task(copy(other, one))
        await asyncio.wait([there, back], return_when=asyncio.FIRST_COMPLETED)
        there.cancel()
        back.cancel()


async def copy(source: Stream, sink: Stream) -> None:
    """Copy until the source ends or the sink is gone."""
    with contextlib.suppress(OSError):
        while data := await source.read(CHUNK_BYTES):
            await sink.write(data)
