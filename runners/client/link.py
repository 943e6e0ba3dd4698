"""The conversation with one supervisor: frames in both directions, calls by number."""

from __future__ import annotations

import asyncio
import contextlib
import marshal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeVar

from runners.channel import Audible, Channel
from runners.client.exchange import Exchange, Piece
from runners.client.wire import Head, Splitter, read_frames
from runners.errors import LostError, ProtocolError, RunnerError, StartError
from runners.setup import Setup
from runners.supervisor import frames, payload

__all__ = ["Link", "Source"]

T = TypeVar("T")
Source = bytes | AsyncIterator[bytes]

GRACE_SECONDS = 15.0
"""How long after its deadline, or a cancel, a call may take to be told as over; and a beat more."""

LAST_WORDS_SECONDS = 1.0
PINGS_PER_LEASE = 6
OVERLAP_MAX = 1000


class Link:
    """Owns the channel, the reader and the heartbeat."""

    def __init__(self, channel: Channel, setup: Setup) -> None:
        self._channel = channel
        self._setup = setup
        self._exchanges: dict[int, Exchange] = {}
        self._numbers = 0
        self._places = asyncio.Semaphore(1)
        self._pongs: dict[int, asyncio.Future[None]] = {}
        self._hello: asyncio.Future[Head] = asyncio.get_running_loop().create_future()
        self._tasks: list[asyncio.Task[None]] = []
        self._closed: asyncio.Task[None] | None = None
        self._heard = time.monotonic()
        self._splitter = Splitter()
        self._deaf = False
        self.error: RunnerError | None = None
        self.dropped = 0

    async def start(self, entered: asyncio.Task[None] | None = None) -> Head:
        """Send the supervisor into its box and hear its hello; it is told all when ``entered``."""
        channel = self._channel
        if not (isinstance(channel, Audible) and await channel.listen(self._hear)):
            self._tasks.append(asyncio.create_task(self._read()))
        setup = marshal.dumps(self._setup.values(), 2)
        with contextlib.suppress(OSError):  # the reader knows better why
            await self._channel.write(payload().data)
            if entered is not None:
                await self._enter(entered)
            await self._channel.write(frames.pack(frames.SETUP, 0, setup))
        hello = await self._hello
        if hello["version"] != frames.VERSION:
            raise StartError(f"the supervisor speaks version {hello['version']}")
        self._tasks.append(asyncio.create_task(self._beat()))
        facts: Head = hello["facts"]
        places = facts.get("overlap", 1)
        # Waiting for a place happens here, where no deadline runs yet.
        self._places = asyncio.Semaphore(places if places in range(1, OVERLAP_MAX) else 1)
        return facts

    async def _enter(self, entered: asyncio.Task[None]) -> None:
        try:
            await asyncio.shield(entered)
        except StartError:
            # A box that has ended cannot be put anywhere, and knows better why.
            await asyncio.wait([self._hello], timeout=LAST_WORDS_SECONDS)
            if self._hello.done():
                await self._hello
            raise

    # -- reading -----------------------------------------------------------------------------

    async def _read(self) -> None:
        try:
            async for head, body in read_frames(self._channel):
                self._heard = time.monotonic()
                self._take(head, body)
            error: RunnerError = LostError("the box ended")
        except RunnerError as wrong:
            error = wrong
        except OSError as broken:
            error = LostError(f"the box cannot be reached: {broken}")
        self._lose(error)

    def _hear(self, data: bytes) -> None:
        """What a channel says that needs no task to be read: a call is answered sooner."""
        if self.error is not None or self._deaf:
            return
        try:
            if not data:
                self._splitter.end()
                raise LostError("the box ended")
            self._heard = time.monotonic()
            for head, body in self._splitter.feed(data):
                self._take(head, body)
        except RunnerError as wrong:
            self._deaf = True
            # A moment later, so that what the box said last on stderr has been read as well.
            asyncio.get_running_loop().call_soon(self._lose, wrong)

    def _take(self, head: Head, body: bytes) -> None:
        kind = head["t"]
        if kind in ("out", "credit", "stop", "done"):
            exchange = self._exchanges.get(head["c"])
            if exchange is None or exchange.done is not None:
                self.dropped += 1
            elif kind == "out":
                exchange.output(head, body)
            elif kind == "credit":
                exchange.more_room(head["n"])
            elif kind == "stop":
                exchange.stop()
            else:
                exchange.finish(head)
        elif kind == "pong":
            waiting = self._pongs.pop(head["n"], None)
            if waiting is not None and not waiting.done():
                waiting.set_result(None)
        elif kind == "hello" and not self._hello.done():
            self._hello.set_result(head)
        elif kind == "fail" and not self._hello.done():
            self._hello.set_exception(StartError(f"the box is not usable: {head['text']}"))
        elif kind == "leave":
            raise LostError(f"the box ended: {head['text']!r}")
        else:
            raise ProtocolError(f"a frame {kind} came at a wrong time")

    def _lose(self, error: RunnerError) -> None:
        """The box is gone, or not to be trusted: everybody who waits hears of it."""
        if self.error is not None:
            return
        said = self._channel.diagnosis()
        if said:
            error = type(error)(f"{error}; its last words: {said[-1000:]!r}")
        self.error = error
        if not self._hello.done():
            self._hello.set_exception(StartError(f"the supervisor did not start: {error}"))
        self._fail_all(error)
        if self._closed is None:
            self._closed = asyncio.create_task(self._channel.close())

    def _fail_all(self, error: RunnerError) -> None:
        for waiting in self._pongs.values():
            if not waiting.done():
                waiting.set_exception(error)
                waiting.exception()  # marks it as seen: whoever waited may be gone
        self._pongs.clear()
        for exchange in list(self._exchanges.values()):
            exchange.fail(error)

    async def _beat(self) -> None:
        """Keep the lease; a box that is silent for as long is lost."""
        pause = self._setup.lease_seconds / PINGS_PER_LEASE
        while self.error is None:
            await asyncio.sleep(pause)
            now = time.monotonic()
            if now - self._heard > self._setup.lease_seconds:
                self._lose(LostError("the box was silent for its whole lease"))
                return
            if any(exchange.overdue(now, GRACE_SECONDS) for exchange in self._exchanges.values()):
                self._lose(LostError("the box did not end a call at its deadline"))
                return
            with contextlib.suppress(OSError):
                await self._channel.write(frames.pack(frames.PING, 0, bytes(8)))

    async def ping(self) -> None:
        """A round trip through the supervisor's loop."""
        self._check()
        self._numbers += 1
        waiting = asyncio.get_running_loop().create_future()
        self._pongs[self._numbers] = waiting
        await self._write(frames.pack(frames.PING, 0, self._numbers.to_bytes(8, "big")))
        await waiting

    # -- calls -------------------------------------------------------------------------------

    async def call(
        self,
        operation: str,
        request: Mapping[str, Any],
        *,
        seconds: float,
        judge: Callable[[Head], T],
        source: Source | None = None,
        sink: Callable[[Piece], Awaitable[None] | None] | None = None,
    ) -> T:
        """Make a call; output goes to ``sink`` as it comes, ``judge`` reads its ``done``.

        A ProtocolError of either ends the session. Cancelling ends the call in the box before
        CancelledError goes on.
        """
        await self._places.acquire()
        try:
            return await self._call(operation, request, seconds, judge, source, sink)
        finally:
            self._places.release()

    async def _call(
        self,
        operation: str,
        request: Mapping[str, Any],
        seconds: float,
        judge: Callable[[Head], T],
        source: Source | None,
        sink: Callable[[Piece], Awaitable[None] | None] | None,
    ) -> T:
        self._check()
        self._numbers += 1
        exchange = Exchange(self._numbers, time.monotonic() + seconds + GRACE_SECONDS)
        self._exchanges[exchange.number] = exchange
        full = {"feed": source is not None, "wall": seconds, "keep": None, "limits": None}
        full.update(request)
        opening = frames.pack(frames.OPEN, exchange.number, marshal.dumps((operation, full), 2))
        feeder: asyncio.Task[None] | None = None
        try:
            if source is not None:
                feeder = asyncio.create_task(self._feed(exchange, source))
                feeder.add_done_callback(lambda _: exchange.wake.set())
            await self._write(opening)
            return judge(await self._consume(exchange, sink, feeder))
        except ProtocolError as wrong:
            self._lose(wrong)
            raise
        except BaseException:
            await self._end(exchange)
            raise
        finally:
            del self._exchanges[exchange.number]
            if feeder is not None:
                feeder.cancel()
                await asyncio.wait([feeder])

    async def _consume(
        self,
        exchange: Exchange,
        sink: Callable[[Piece], Awaitable[None] | None] | None,
        feeder: asyncio.Task[None] | None,
    ) -> Head:
        while True:
            while exchange.pieces:
                piece = exchange.pieces.popleft()
                if sink is not None:
                    waiting = sink(piece)
                    if waiting is not None:
                        await waiting
                credit = exchange.consumed(piece.stream, len(piece.data))
                if credit is not None and exchange.error is None:
                    await self._write(credit)
            if exchange.done is not None:
                return exchange.done
            if exchange.error is not None:
                raise exchange.error
            if feeder is not None and feeder.done() and not feeder.cancelled():
                failed = feeder.exception()
                if failed is not None:
                    raise failed
            await exchange.wake.wait()

    async def _feed(self, exchange: Exchange, source: Source) -> None:
        """Send the input as fast as the box takes it."""
        pieces = _one(source) if isinstance(source, bytes) else source
        async for piece in pieces:
            whole, at = memoryview(piece), 0
            while at < len(whole):
                while exchange.credit <= 0 and not exchange.stopped:
                    await exchange.room.wait()
                if exchange.stopped:
                    return
                part = whole[at : at + min(exchange.credit, frames.BODY_MAX)]
                exchange.credit -= len(part)
                at += len(part)
                await self._write(frames.pack(frames.DATA, exchange.number, part))
        if not exchange.stopped:
            await self._write(frames.pack(frames.END, exchange.number))

    async def _end(self, exchange: Exchange) -> None:
        """Cancel a call and wait until the box says that nothing of it is left."""
        if exchange.done is not None or self.error is not None:
            return
        ending = asyncio.create_task(self._cancel(exchange))
        while not ending.done():
            # A second cancel must not leave the program running.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([ending])

    async def _cancel(self, exchange: Exchange) -> None:
        with contextlib.suppress(OSError, RunnerError):
            await self._write(frames.pack(frames.CANCEL, exchange.number))
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                while exchange.done is None and exchange.error is None:
                    exchange.pieces.clear()
                    await exchange.wake.wait()
        except TimeoutError:
            self._lose(LostError("the box did not end a call that was cancelled"))

    def _check(self) -> None:
        if self.error is not None:
            raise self.error
        if self._closed is not None:
            raise LostError("the session is closed")

    async def _write(self, data: bytes) -> None:
        try:
            await self._channel.write(data)
        except OSError as broken:
            self._lose(LostError(f"the box cannot be reached: {broken}"))
            assert self.error is not None
            raise self.error from None

    # -- the end -----------------------------------------------------------------------------

    async def close(self) -> None:
        """End the box; safe to repeat, and finished even when cancelled."""
        if self._closed is None:
            self._closed = asyncio.create_task(self._close())
        try:
            await asyncio.shield(self._closed)
        finally:
            if self._closed.done():
                self._stop_tasks()

    async def _close(self) -> None:
        closed = LostError("the session is closed")
        self.error = self.error or closed
        self._fail_all(closed)
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(1):
                await self._channel.write(frames.pack(frames.CLOSE))
        await self._channel.close()

    def _stop_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()


async def _one(data: bytes) -> AsyncIterator[bytes]:
    yield data
