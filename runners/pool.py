"""Started, unused sessions, kept ready so that a run need not wait for its box.

A session serves one run and is never given out twice. What is kept ready is never paused: a paused
container would outlive its harness.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from types import TracebackType

from runners.contract import Runner, Session, SessionSpec
from runners.errors import RunnerError
from runners.front import Front

__all__ = ["Pool"]

RUN = "pool"
"""The run that a session is labelled with, as it is started before its own run is known."""

BEHIND_SECONDS = 0.1
"""How long after one was taken another is started: a start takes much longer than a call."""


@dataclass
class Shelf:
    """The ready sessions of one kind.

    Attributes:
        spec: their kind.
        ready: those that can be taken, oldest first, each with its timer.
        filling: those that are being started.
    """

    spec: SessionSpec
    ready: deque[tuple[Session, asyncio.TimerHandle]] = field(default_factory=deque)
    filling: set[asyncio.Task[None]] = field(default_factory=set)


class Pool(Front):
    """A Runner that keeps sessions of each kind that was asked for ready.

    Use it as an asynchronous context; its end closes what was not taken. A kind is all of the
    spec but the run. Opened directly are sessions in place, since a folder has one at a time, and
    those made for the size of one workspace.
    """

    def __init__(self, runner: Runner, *, size: int = 2, idle_seconds: float = 300.0) -> None:
        """A pool.

        Args:
            runner: that starts the sessions.
            size: how many of a kind are kept ready.
            idle_seconds: how long an unused one is kept.
        """
        super().__init__(runner)
        self._size = size
        self._idle_seconds = idle_seconds
        self._shelves: dict[SessionSpec, Shelf] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = False

    async def __aenter__(self) -> Pool:
        self._open = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open = False
        tasks = list(self._tasks)
        for shelf in self._shelves.values():
            while shelf.ready:
                session, timer = shelf.ready.popleft()
                timer.cancel()
                tasks.append(self._spawn(close(session)))
        await asyncio.gather(*tasks)

    def keep(self, size: int) -> None:
        """From now on keep so many of a kind ready; those that are ready already stay."""
        self._size = size

    async def warm(self, spec: SessionSpec) -> None:
        """Start what is missing of a kind and wait for it; errors come when one is opened."""
        if self._open and not single(spec):
            shelf = self._shelf(spec)
            self._fill(shelf)
            await asyncio.gather(*shelf.filling)

    async def open(self, spec: SessionSpec) -> Session:
        """A ready session that still lives, else a new one; more are started behind it."""
        if not self._open or single(spec):
            return await self._runner.open(spec)
        shelf = self._shelf(spec)
        pause = 0.0
        try:
            while shelf.ready:
                session, timer = shelf.ready.popleft()
                timer.cancel()
                if await lives(session):
                    pause = BEHIND_SECONDS  # who took it is not to share the processors at once
                    return session
                self._spawn(close(session))
            return await self._runner.open(spec)
        finally:
            asyncio.get_running_loop().call_later(pause, self._fill, shelf)

    def _shelf(self, spec: SessionSpec) -> Shelf:
        kind = replace(spec, run=RUN)
        return self._shelves.setdefault(kind, Shelf(kind))

    def _fill(self, shelf: Shelf) -> None:
        missing = self._size - len(shelf.ready) - len(shelf.filling) if self._open else 0
        for _ in range(missing):
            task = self._spawn(self._add(shelf))
            shelf.filling.add(task)
            task.add_done_callback(shelf.filling.discard)

    async def _add(self, shelf: Shelf) -> None:
        try:
            session = await self._runner.open(shelf.spec)
            # The first operation loads what the others need, too: it is not left to a run.
            await session.list_dir(limit=1)
        except RunnerError:
            return  # whoever opens next starts one directly, and is told why it fails
        if not self._open:
            await close(session)
            return
        timer = asyncio.get_running_loop().call_later(
            self._idle_seconds, self._expire, shelf, session
        )
        shelf.ready.append((session, timer))

    def _expire(self, shelf: Shelf, session: Session) -> None:
        shelf.ready = deque(entry for entry in shelf.ready if entry[0] is not session)
        self._spawn(close(session))

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def single(spec: SessionSpec) -> bool:
    """Whether no other session could be like this one."""
    return spec.in_place is not None or spec.workspace_mib > 0


async def lives(session: Session) -> bool:
    """Whether a session's box still answers."""
    try:
        await session.resolve("true", ("/bin",))
    except RunnerError:
        return False
    return True


async def close(session: Session) -> None:
    """Close a session that nobody has; one that is lost already needs no word more."""
    with contextlib.suppress(RunnerError):
        await session.close()
