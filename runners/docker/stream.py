"""A byte stream to the engine: path socket, TCP, TLS, or ssh with ``docker system dial-stdio``."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Coroutine
from typing import Any

from runners.docker.endpoint import Endpoint
from runners.errors import StartError, UnavailableError

__all__ = ["Stream", "dial"]

BUFFER_BYTES = 1 << 18
DIAL_SECONDS = 30.0


class Line(asyncio.StreamReaderProtocol):
    """A connection that is read, until somebody listens to it instead."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        super().__init__(reader)
        self.hear: Callable[[bytes], None] | None = None
        self.ended = False

    def data_received(self, data: bytes) -> None:
        if self.hear is None:
            super().data_received(data)
        else:
            self.hear(data)

    def eof_received(self) -> bool | None:
        stays = super().eof_received()
        self._end()
        return stays

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._end()

    def _end(self) -> None:
        if not self.ended:
            self.ended = True
            if self.hear is not None:
                self.hear(b"")


class Stream:
    """Both directions of a connection to the engine."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        line: Line | None = None,
        process: Process | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._line = line
        self._process = process

    async def listen(self, hear: Callable[[bytes], None]) -> bool:
        """Give all that comes to a function from now on, b"" at the end; nobody reads then.

        It spares a task and a turn of the loop for each piece. False where it cannot be done.
        """
        line = self._line
        if line is None:
            return False
        line.hear = hear
        self._reader.feed_eof()
        if unread := await self.read(-1):  # waits for nothing: this is its end
            hear(unread)
        if line.ended:
            hear(b"")
        return True

    async def read(self, limit: int) -> bytes:
        """At least one byte, or b"" at the end, also when the connection broke; -1: up to it."""
        try:
            return await self._reader.read(limit)
        except (ConnectionError, TimeoutError, OSError):
            return b""

    async def read_until(self, mark: bytes, limit: int) -> bytes:
        """Bytes up to and with ``mark``; StartError when they do not come."""
        try:
            head = await self._reader.readuntil(mark)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as error:
            raise StartError(f"the engine's answer was cut: {error}") from error
        if len(head) > limit:
            raise StartError(f"the engine's answer has a head of {len(head)} bytes")
        return head

    async def write(self, data: bytes) -> None:
        """Write; returns when the connection took it (all but a small buffer)."""
        self._writer.write(data)
        await self._writer.drain()

    def end_input(self) -> bool:
        """Half-close: the other side reads an end. False where only a full close can say it."""
        if self._writer.is_closing():
            return False
        try:
            if not self._writer.can_write_eof():
                return False
            self._writer.write_eof()
        except OSError:
            return False
        return True

    async def close(self) -> None:
        """Close both directions at once."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
        process = self._process
        if process is not None:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            await process.wait()


async def dial(endpoint: Endpoint) -> Stream:
    """Connect to the engine; UnavailableError says why it did not work."""
    try:
        async with asyncio.timeout(DIAL_SECONDS):
            return await connect(endpoint)
    except TimeoutError:
        raise UnavailableError(f"{endpoint.url} did not answer in {DIAL_SECONDS:.0f} s") from None
    except OSError as error:
        raise UnavailableError(f"cannot connect to {endpoint.url}: {error}") from error


async def connect(endpoint: Endpoint) -> Stream:
    """One connection, by the endpoint's own means."""
    loop = asyncio.get_running_loop()
    if endpoint.kind == "unix":
        return await connect_line(lambda line: loop.create_unix_connection(line, endpoint.address))
    host, port = endpoint.host_port
    if endpoint.kind == "ssh":
        return await connect_ssh(endpoint, port)
    context = endpoint.tls.context() if endpoint.tls else None
    return await connect_line(lambda line: loop.create_connection(line, host, port, ssl=context))


async def connect_line(
    connecting: Callable[[Callable[[], Line]], Coroutine[Any, Any, tuple[asyncio.Transport, Line]]],
) -> Stream:
    """A connection of one socket."""
    reader = asyncio.StreamReader(limit=BUFFER_BYTES)
    transport, line = await connecting(lambda: Line(reader))
    writer = asyncio.StreamWriter(transport, line, reader, asyncio.get_running_loop())
    return Stream(reader, writer, line=line)


async def connect_ssh(endpoint: Endpoint, port: int) -> Stream:
    """The engine behind ssh, as the docker command reaches it."""
    target = endpoint.address.rsplit(":", 1)[0] if port else endpoint.address
    argv = ["ssh", "-T", "-o", "ConnectTimeout=20", "-o", "BatchMode=yes"]
    argv += ["-p", str(port)] if port else []
    argv += ["--", target, "docker", "system", "dial-stdio"]
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=BUFFER_BYTES
    )
    if process.stdin is None or process.stdout is None:
        raise UnavailableError(f"ssh to {endpoint.address} has no pipes")
    return Stream(process.stdout, process.stdin, process=process)
