"""One call as the harness sees it: what came, what was consumed, what may still be sent."""

from __future__ import annotations

import asyncio
from collections import deque

from runners.client.wire import Head
from runners.errors import ProtocolError, RunnerError
from runners.supervisor import frames

__all__ = ["Exchange", "Piece"]

TOP_UP = frames.WINDOW // 4
"""Credit is given back in lumps: a call with little output costs no frame for it."""


class Piece:
    """Output bytes of one stream, in one run."""

    __slots__ = ("at", "data", "stream")

    def __init__(self, stream: int, at: int, data: bytes) -> None:
        self.stream = stream
        self.at = at
        self.data = bytearray(data)


class Signal:
    """Wakes the one task that waits; whoever does not wait yet looks for himself first."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: asyncio.Future[None] | None = None

    def set(self) -> None:
        """Something changed."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def wait(self) -> asyncio.Future[None]:
        """Done at the next change."""
        self._waiting = asyncio.get_running_loop().create_future()
        return self._waiting


class Exchange:
    """The state between OPEN and ``done``. The session's reader fills it, one task empties it.

    It should be done when it is ``due``, by the monotonic clock.
    """

    def __init__(self, number: int, due: float) -> None:
        self.number = number
        self._due = due
        self.pieces: deque[Piece] = deque()
        self.done: Head | None = None
        self.error: RunnerError | None = None
        self.wake = Signal()
        self.room = Signal()
        self.credit = frames.WINDOW
        self.stopped = False
        self._position = [0, 0, 0]
        self._unconsumed = [0, 0, 0]
        self._owed = [0, 0, 0]
        self._came = 0
        self._taken = 0

    def output(self, head: Head, data: bytes) -> None:
        """A frame ``out``; ProtocolError when it breaks the rules of the window."""
        stream, at = head["s"], head["at"]
        if stream not in (1, 2) or at < self._position[stream]:
            raise ProtocolError("output came for a wrong stream or out of order")
        self._unconsumed[stream] += len(data)
        if self._unconsumed[stream] > frames.WINDOW:
            raise ProtocolError("more output came than there was credit for")
        self._position[stream] = at + len(data)
        self._came += len(data)
        last = self.pieces[-1] if self.pieces else None
        if last is not None and last.stream == stream and last.at + len(last.data) == at:
            last.data += data
        else:
            self.pieces.append(Piece(stream, at, data))
        self.wake.set()

    def consumed(self, stream: int, count: int) -> bytes | None:
        """Note that output was taken care of; a frame that gives credit, when one is due."""
        self._owed[stream] += count
        self._taken += count
        if self.done is not None or self._owed[stream] < TOP_UP:
            return None
        owed, self._owed[stream] = self._owed[stream], 0
        self._unconsumed[stream] -= owed
        return frames.pack(frames.CREDIT, self.number, frames.NUMBER.pack(owed), stream)

    def overdue(self, now: float, grace: float) -> bool:
        """Whether the box should have ended this by now.

        Not while output is there that nobody has taken care of yet: the box may wait for that.
        """
        if self._came > self._taken:
            self._due = now + grace
        return self.done is None and self.error is None and now > self._due

    def more_room(self, count: int) -> None:
        """A frame ``credit``."""
        self.credit = min(self.credit + count, frames.WINDOW)
        self.room.set()

    def stop(self) -> None:
        """A frame ``stop``: nobody reads the input any more."""
        self.stopped = True
        self.room.set()

    def finish(self, head: Head) -> None:
        """The frame ``done``."""
        self.done = head
        self.stop()
        self.wake.set()

    def fail(self, error: RunnerError) -> None:
        """The box ended."""
        self.error = self.error or error
        self.stop()
        self.wake.set()
