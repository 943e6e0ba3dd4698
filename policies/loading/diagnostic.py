"""Diagnostics of a policy file, shown like a compiler's, and the error that carries them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Diagnostic", "PolicyFileError"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault of a policy file.

    Attributes:
        file: as it was named.
        line: from 1; 0 when the file as a whole is meant.
        column: from 1.
        message: what is wrong.
        fix: what to write instead, or "".
        source: the line of the file.
        width: how many characters the caret underlines.
    """

    file: str
    line: int
    column: int
    message: str
    fix: str = ""
    source: str = ""
    width: int = 1

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        text = f"{place}: error: {self.message}"
        if self.source:
            shown, column = window(self.source, self.column - 1)
            number = str(self.line)
            gap = " " * len(number)
            caret = "^" * max(1, min(self.width, len(shown) - column))
            text += f"\n {number} | {shown}\n {gap} | {' ' * column}{caret}"
            if self.fix:
                text += f" {self.fix}"
        elif self.fix:
            text += f"; {self.fix}"
        return text


LONGEST_SHOWN = 100


def window(source: str, column: int) -> tuple[str, int]:
    """The part of a long line around a column, with tabs as single spaces."""
    source = "".join(c if c.isprintable() else " " for c in source)
    if len(source) <= LONGEST_SHOWN:
        return source, column
    start = max(0, min(column - LONGEST_SHOWN // 2, len(source) - LONGEST_SHOWN))
    return source[start : start + LONGEST_SHOWN], column - start


class PolicyFileError(ValueError):
    """A policy file does not load: all its faults at once."""

    exit_code = 2

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(diagnostic) for diagnostic in self.diagnostics))
