"""Who watches a run while it goes on."""

from __future__ import annotations

from typing import Protocol

from harness.event import Event

__all__ = ["Audience", "Silence"]


class Audience(Protocol):
    """Hears every event, and remarks that are for people alone."""

    def hear(self, event: Event) -> None:
        """Something happened."""
        ...

    def say(self, text: str) -> None:
        """Something that a person should know."""
        ...


class Silence:
    """Nobody watches."""

    def hear(self, event: Event) -> None:
        """Nobody does."""

    def say(self, text: str) -> None:
        """To nobody."""
