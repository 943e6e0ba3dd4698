"""A note to a model that repeats itself. It advises and never blocks."""

from __future__ import annotations

from harness.message import ToolCall

__all__ = ["RepeatGuard"]

AT = (3, 5, 8)
"""The numbers of identical consecutive calls that are worth a note."""


class RepeatGuard:
    """Counts identical consecutive calls."""

    def __init__(self, at: tuple[int, ...] = AT) -> None:
        self._at = frozenset(at)
        self._last: tuple[str, str] | None = None
        self._count = 0

    def look(self, call: ToolCall, *, ok: bool) -> str | None:
        """Look at the next call with its result; a note for the model where one is due."""
        key = (call.name, call.arguments)
        self._count = self._count + 1 if key == self._last else 1
        self._last = key
        if self._count not in self._at:
            return None
        return (
            f"[You have called {call.name} {self._count} times in a row with the same arguments; "
            f"the result {'will not change' if ok else 'is a failure each time'}. "
            "Try something else.]"
        )
