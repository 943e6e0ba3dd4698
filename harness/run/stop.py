"""Stopping a run from outside: once to end it in order, twice to end it at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from harness.signal import Signal

__all__ = ["Stop"]


class Stop:
    """A request to stop, and who is to hear of it.

    The agent hears it through ``signal`` and ends its conversation in order. All other work is
    cancelled: it runs inside ``interruptible()``.
    """

    def __init__(self) -> None:
        self.signal = Signal()
        self.code: int | None = None
        self.tasks: list[asyncio.Task[Any]] = []

    @property
    def requested(self) -> bool:
        """Whether somebody asked to stop."""
        return self.code is not None

    def request(self, code: int) -> None:
        """Stop now, in order. Called from the event loop's thread."""
        if self.code is None:
            self.code = code
            self.signal.cancel("aborted")
            for task in self.tasks:
                task.cancel()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Work that a request cancels, also one that came before."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.append(task)
        try:
            if self.code is not None:
                raise asyncio.CancelledError
            yield
        finally:
            self.tasks.remove(task)
