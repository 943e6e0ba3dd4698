"""Miss: the first word at which a command leaves a line."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Miss"]

Source = tuple[str, ...] | Callable[[], tuple[str, ...]]


class Miss:
    """Why a line does not hold.

    Attributes:
        reason: a reason code.
        word: index of the word in argv; ``len(argv)`` when something is missing at the end.
        source: what the line would have taken there, as written, or how to find out.
    """

    __slots__ = ("reason", "source", "word")

    def __init__(self, reason: str, word: int, source: Source = ()) -> None:
        self.reason = reason
        self.word = word
        self.source = source

    @property
    def expected(self) -> tuple[str, ...]:
        """Worked out only for the miss that is shown."""
        return self.source if isinstance(self.source, tuple) else self.source()

    def __repr__(self) -> str:
        return f"{self.reason}@{self.word}"
