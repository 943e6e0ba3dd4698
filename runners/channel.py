"""The bytes to and from a supervisor: a Channel, and the one for a local child process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

__all__ = ["Audible", "Channel", "PipeChannel"]

DIAGNOSIS_MAX = 4096
UNREAD_MAX = 1 << 20
CLOSE_SECONDS = 5.0


class Channel(Protocol):
    """A way to a supervisor; its own errors are OSError."""

    async def read(self, count: int) -> bytes:
        """1 to ``count`` bytes; b"" at the end."""
        ...

    async def write(self, data: bytes) -> None:
        """Take all of ``data``, in order; returns when more may be given."""
        ...

    async def close(self) -> None:
        """End the input, then the box, for certain and within a deadline; safe to repeat."""
        ...

    def diagnosis(self) -> str:
        """The last words of the box's stderr."""
        ...


@runtime_checkable
class Audible(Protocol):
    """A channel that can be listened to: a call is answered sooner than through a reader."""

    async def listen(self, hear: Callable[[bytes], None]) -> bool:
        """Give all that comes to a function from now on, b"" at the end; nobody reads then.

        False where it cannot be done.
        """
        ...


class PipeChannel:
    """A supervisor that is our child, on a socket pair; for the process and bubblewrap boxes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._stream = _Stream()
        self._words = _Words()
        self._held: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls, sock: socket.socket, stderr: int, process: subprocess.Popen[bytes]
    ) -> PipeChannel:
        """Take over our end of the pair, the reading end of stderr, and the child."""
        made = cls(process)
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(lambda: made._stream, sock)
        await loop.connect_read_pipe(lambda: made._words, os.fdopen(stderr, "rb"))
        return made

    @classmethod
    async def start(cls, argv: Sequence[str]) -> PipeChannel:
        """Start a child without any isolation, with an empty environment."""
        ours, theirs = socket.socketpair()
        said, words = os.pipe()
        with theirs:
            try:
                process = _child(argv, theirs.fileno(), words)
            finally:
                os.close(words)
        return await cls.open(ours, said, process)

    @property
    def pid(self) -> int:
        """The child."""
        return self._process.pid

    def holds(self, task: asyncio.Task[None]) -> None:
        """Do not reap the child before a task has ended that knows it by its number."""
        self._held = task

    async def listen(self, hear: Callable[[bytes], None]) -> bool:
        """Give all that comes to a function from now on, b"" at the end; nobody reads then."""
        self._stream.listen(hear)
        return True

    async def read(self, count: int) -> bytes:
        """1 to ``count`` bytes; b"" at the end."""
        return await self._stream.read(count)

    async def write(self, data: bytes) -> None:
        """Take all of ``data``; waits while the box does not read."""
        await self._stream.write(data)

    async def close(self) -> None:
        """Hang up, wait for the child to leave, else kill it."""
        self._stream.hang_up()
        if self._held is not None:
            await asyncio.wait([self._held])
            if not self._held.cancelled():
                self._held.exception()  # marks it as seen: whoever waited may be gone
        until = time.monotonic() + CLOSE_SECONDS
        pause = 0.001
        while self._process.poll() is None and time.monotonic() < until:
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 0.05)
        if self._process.poll() is None:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)
        self._stream.abort()
        self._words.abort()

    def diagnosis(self) -> str:
        """The last words of the box's stderr."""
        return self._words.kept.decode("utf-8", "replace").strip()


def _child(argv: Sequence[str], stream: int, words: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv, stdin=stream, stdout=stream, stderr=words, env={}, start_new_session=True
    )


class _Stream(asyncio.Protocol):
    """Bytes both ways, with limits both ways."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._unread = bytearray()
        self._ended = False
        self._hung_up = False
        self._reader: asyncio.Future[None] | None = None
        self._hear: Callable[[bytes], None] | None = None
        self._paused = False
        self._writers: list[asyncio.Future[None]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=UNREAD_MAX)

    def listen(self, hear: Callable[[bytes], None]) -> None:
        self._hear = hear
        unread, self._unread = bytes(self._unread), bytearray()
        if unread:
            hear(unread)
        if self._ended:
            hear(b"")

    def data_received(self, data: bytes) -> None:
        if self._hear is not None:
            self._hear(data)
            return
        self._unread += data
        if len(self._unread) > UNREAD_MAX and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self._end()
        return True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._end()
        self.resume_writing()

    def _end(self) -> None:
        ended, self._ended = self._ended, True
        self._wake()
        if self._hear is not None and not ended:
            self._hear(b"")

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        for waiting in self._writers:
            if not waiting.done():
                waiting.set_result(None)
        self._writers.clear()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def read(self, count: int) -> bytes:
        while not self._unread and not self._ended:
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        data = bytes(self._unread[:count])
        del self._unread[:count]
        if self._transport is not None and not self._transport.is_reading() and not self._ended:
            self._transport.resume_reading()
        return data

    async def write(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing() or self._ended or self._hung_up:
            raise BrokenPipeError("the box hung up")
        self._transport.write(data)
        if self._paused:
            waiting = asyncio.get_running_loop().create_future()
            self._writers.append(waiting)
            await waiting

    def hang_up(self) -> None:
        self._hung_up = True
        if self._transport is not None and not self._transport.is_closing():
            with contextlib.suppress(OSError):
                self._transport.write_eof()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class _Words(asyncio.Protocol):
    """The end of what a box says on stderr."""

    def __init__(self) -> None:
        self.kept = bytearray()
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.kept += data
        del self.kept[:-DIAGNOSIS_MAX]

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.close()
