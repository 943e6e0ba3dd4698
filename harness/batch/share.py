"""A fair share of the machine's memory: runs wait until what they may use at most is free."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["MemoryShare", "total_mib"]


def total_mib() -> int:
    """Memory of this machine, less an eighth for the rest of it."""
    import psutil

    return int(psutil.virtual_memory().total) * 7 // 8 >> 20


class MemoryShare:
    """Lets runs begin in the order in which they ask; one alone always may."""

    def __init__(self, total: int) -> None:
        """So many MiB are shared."""
        self._total = total
        self._used = 0
        self._turn = asyncio.Condition()
        self._next = 0
        self._served = 0

    @asynccontextmanager
    async def of(self, mib: int) -> AsyncIterator[None]:
        """Hold so many MiB, after those who asked before."""
        ticket = self._next
        self._next += 1
        async with self._turn:
            try:
                await self._turn.wait_for(lambda: self._may(ticket, mib))
            finally:
                self._served += 1  # a cancelled one must not hold up those behind it
                self._turn.notify_all()
            self._used += mib
        try:
            yield
        finally:
            self._used -= mib
            async with self._turn:
                self._turn.notify_all()

    def _may(self, ticket: int, mib: int) -> bool:
        fits = self._used == 0 or self._used + mib <= self._total
        return fits and ticket <= self._served
