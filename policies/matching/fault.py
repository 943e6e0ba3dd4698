"""Miss: the first word at which a command leaves a line."""

from __future__ import annotations

__all__ = ["Miss"]


class Miss:
    """Why a line does not hold.

    Attributes:
        reason: a reason code.
        word: index of the word in argv; ``len(argv)`` when something is missing at the end.
        expected: what the line would have taken there, as written.
    """

    __slots__ = ("expected", "reason", "word")

    def __init__(self, reason: str, word: int, expected: tuple[str, ...] = ()) -> None:
        self.reason = reason
        self.word = word
        self.expected = expected

    def __repr__(self) -> str:
        return f"{self.reason}@{self.word}"
