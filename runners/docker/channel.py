"""The supervisor's channel in a container: its attached streams, and a certain end."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from runners.docker.attach import Demultiplexer
from runners.docker.engine import Engine
from runners.docker.stream import Stream
from runners.errors import ProtocolError, RunnerError

__all__ = ["AttachChannel", "why_ended"]

READ_BYTES = 1 << 16
END_SECONDS = 3.0  # a supervisor that heard the end is gone in a tenth of this
GONE_SECONDS = 10.0
ASK_SECONDS = 5.0
CLOCK_SECONDS = 60.0  # the engine's clock may differ from ours by so much


class AttachChannel:
    """Bytes to and from the first process of one container.

    The connection must be attached before the container starts: only then does its end, also
    that of a killed harness, end the container.
    """

    def __init__(
        self,
        engine: Engine,
        stream: Stream,
        container: str,
        *,
        brief: bool = False,
        end_seconds: float = END_SECONDS,
    ) -> None:
        self.container = container
        self._brief = brief
        self._end_seconds = end_seconds
        self._engine = engine
        self._stream = stream
        self._parts = Demultiplexer()
        self._made = time.time()
        self._reason = ""
        self._ended = False
        self._reading = asyncio.Lock()
        self._heard = False
        self._over = asyncio.Event()
        self._end: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    async def read(self, limit: int) -> bytes:
        """At least one byte of the supervisor's output; b"" when the box has ended."""
        async with self._reading:
            while True:
                data = self._parts.take(limit)
                if data or self._ended:
                    return data
                await self._feed()

    async def listen(self, hear: Callable[[bytes], None]) -> bool:
        """Give all output to a function from now on, b"" at the end; nobody reads then."""
        while piece := self._parts.take(READ_BYTES):
            hear(piece)
        self._heard = await self._stream.listen(partial(self._arrived, hear))
        return self._heard

    def _arrived(self, hear: Callable[[bytes], None], data: bytes) -> None:
        if data:
            try:
                self._parts.feed(data)
            except ProtocolError as wrong:
                self._reason = str(wrong)
                data = b""
            while piece := self._parts.take(READ_BYTES):
                hear(piece)
        if not data and self._end is None:
            self._end = asyncio.create_task(self._tell_end(hear))

    async def _tell_end(self, hear: Callable[[bytes], None]) -> None:
        await self._find_reason()
        self._ended = True
        self._over.set()
        hear(b"")

    async def write(self, data: bytes) -> None:
        """Send to the supervisor; returns when the connection took it."""
        await self._stream.write(data)

    async def close(self) -> None:
        """End the box: tell it, wait, then kill; returns when the container is gone.

        A brief one is not waited for once its first process has ended, and with it all others.

        Safe to repeat. A caller that is cancelled does not stop the closing.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    def diagnosis(self) -> str:
        """Why the box ended, when it was not closed by us, and its last words."""
        words = self._parts.stderr.decode("utf-8", "replace").strip()
        return "\n".join(text for text in (self._reason, words) if text)

    async def _close(self) -> None:
        if not self._ended and self._stream.end_input():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._end_seconds):
                    await self._drain()
        ended = self._ended
        await self._stream.close()
        if ended and self._brief:
            return
        await remove_container(self._engine, self.container, ended=ended)

    async def _feed(self) -> None:
        data = await self._stream.read(READ_BYTES)
        if data:
            self._parts.feed(data)
        else:
            await self._find_reason()
            self._ended = True

    async def _drain(self) -> None:
        """Read to the end, unless somebody else reads it."""
        if self._heard:
            await self._over.wait()
        while not self._ended:
            async with self._reading:
                while self._parts.take(READ_BYTES):
                    pass
                if not self._ended:
                    await self._feed()

    async def _find_reason(self) -> None:
        """Ask the engine what happened; never fails, never takes long."""
        if self._closing is not None or self._ended or self._reason:
            return
        try:
            async with asyncio.timeout(ASK_SECONDS):
                since = self._made - CLOCK_SECONDS
                self._reason = why_ended(await self._engine.end_of(self.container, since))
        except (RunnerError, TimeoutError):
            self._reason = "the Docker engine is gone or does not answer, and the box with it"


async def remove_container(engine: Engine, container: str, *, ended: bool) -> None:
    """Wait for a container that ends by itself; kill and remove one that does not."""
    # Without its engine there is nothing that could be removed now; the sweep of the next start
    # finds it by its label.
    with contextlib.suppress(RunnerError):
        if not ended or not await engine.wait_gone(container, GONE_SECONDS):
            await engine.remove(container)


def why_ended(events: Sequence[dict[str, Any]]) -> str:
    """One sentence from the engine's events of one container."""
    actions = [str(event.get("Action", "")) for event in events]
    code = ""
    for event in events:
        if event.get("Action") == "die":
            code = str(event.get("Actor", {}).get("Attributes", {}).get("exitCode", ""))
    if "die" not in actions:
        return "the connection to the box was cut while its container was running"
    if code == "137" and "oom" in actions:
        return "the box ran out of memory and its first process was killed"
    if code == "137":
        return "the box's first process was killed (docker kill, or the engine stopped)"
    return f"the box's first process ended with code {code}"
