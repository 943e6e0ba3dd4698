"""What a person sees while a batch goes on."""

from __future__ import annotations

from typing import Protocol

from harness.batch.attempt import Attempt
from harness.batch.job import Entry

__all__ = ["BatchWatch", "Quiet"]


class BatchWatch(Protocol):
    """Hears of every attempt."""

    def began(self, entry: Entry, number: int) -> None:
        """An attempt starts."""
        ...

    def ended(self, attempt: Attempt, done: int, total: int) -> None:
        """An attempt is over; so many of all are."""
        ...

    def say(self, text: str) -> None:
        """A remark."""
        ...


class Quiet:
    """Nobody watches."""

    def began(self, entry: Entry, number: int) -> None:
        """To nobody."""

    def ended(self, attempt: Attempt, done: int, total: int) -> None:
        """To nobody."""

    def say(self, text: str) -> None:
        """To nobody."""
