"""LineError: a command line that is not of the accepted subset."""

from __future__ import annotations

__all__ = ["LineError"]


class LineError(ValueError):
    """A line cannot be read as a plan.

    Attributes:
        reason: a ``plan:`` code.
        column: where, counted from 0 in the text.
        message: what is wrong and what to write instead.
    """

    def __init__(self, reason: str, column: int, message: str) -> None:
        super().__init__(f"{message} ({reason}, column {column})")
        self.reason = reason
        self.column = column
        self.message = message
