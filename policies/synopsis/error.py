"""SynopsisError: a line that is not of the grammar, with the column of the fault."""

from __future__ import annotations

__all__ = ["SynopsisError"]


class SynopsisError(ValueError):
    """A synopsis line cannot be used.

    Attributes:
        message: what is wrong.
        column: where, counted from 0 in the text of the line.
        fix: what to write instead, or "".
        width: how many characters are at fault.
    """

    def __init__(self, message: str, column: int, fix: str = "", *, width: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.column = column
        self.fix = fix
        self.width = width
