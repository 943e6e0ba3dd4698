"""Tokens of a command line: words, operators, redirections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Operator", "Redirect", "Token", "WordToken"]


@dataclass(frozen=True, slots=True)
class WordToken:
    """A word after quotes were taken off.

    Attributes:
        text: the word itself; for a glob the pattern, quoted special characters as ``[x]``.
        column: where it begins.
        glob: it holds unquoted ``*``, ``?`` or ``[...]``.
        plain: nothing in it was quoted, so it can be a keyword.
        assign: length of an unquoted ``NAME=`` at its start, or 0.
    """

    text: str
    column: int
    glob: bool = False
    plain: bool = True
    assign: int = 0


@dataclass(frozen=True, slots=True)
class Operator:
    """``|``, ``|&``, ``&&``, ``||``, ``;`` or a newline (as ``;``)."""

    text: Literal["|", "|&", "&&", "||", ";"]
    column: int
    newline: bool = False


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection with its target, or a heredoc with its body."""

    kind: Literal["<", ">", ">>", "2>", "2>>", "&>", "&>>", "2>&1", "<<"]
    column: int
    target: WordToken | None = None
    body: str = ""


Token = WordToken | Operator | Redirect
