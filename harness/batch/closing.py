"""Sessions that end behind the runs: a container's removal is waited for, but by no run."""

from __future__ import annotations

import asyncio
from typing import cast

from runners import Front, Runner, RunnerError, Session, SessionSpec

__all__ = ["ClosedBehind", "Closing"]

MOST = 8
"""Closings under way; a run that ends one more session waits for the oldest of them."""


class Closing:
    """The sessions that are being closed; nothing of them is left when `wait` returns."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._tasks: dict[asyncio.Task[None], None] = {}

    async def begin(self, session: Session) -> None:
        """Start to close a session; only waits where too many are being closed."""
        task = asyncio.create_task(_close(session))
        self._tasks[task] = None
        task.add_done_callback(lambda done: self._tasks.pop(done, None))
        if len(self._tasks) > self._most:
            await asyncio.wait([next(iter(self._tasks))])

    async def wait(self) -> None:
        """Until all are closed."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))


class ClosedBehind(Front):
    """A runner whose sessions are closed by a `Closing`."""

    def __init__(self, runner: Runner, closing: Closing) -> None:
        super().__init__(runner)
        self._closing = closing

    async def open(self, spec: SessionSpec) -> Session:
        """As the runner; a folder in place is let go of before another session may have it."""
        session = await super().open(spec)
        if spec.in_place is not None:
            return session
        return cast("Session", _Behind(session, self._closing))


class _Behind:
    """The session, but for its close."""

    def __init__(self, session: Session, closing: Closing) -> None:
        self._session = session
        self._closing = closing
        self._begun = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._session, name)

    async def close(self) -> None:
        """Begin to close; safe to repeat."""
        if not self._begun:
            self._begun = True
            await self._closing.begin(self._session)


async def _close(session: Session) -> None:
    try:
        await session.close()
    except RunnerError:
        return  # the sweep of a later start finds what could not be removed now
