"""ValueType: what one word, or the value of an option, may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

__all__ = ["Check", "CommandKind", "PathKind", "Place", "ValueType"]


class Place:
    """Where a command runs: the workspace root and the folder below it that it starts in.

    Attributes:
        root: absolute path of the workspace in the box, without a trailing slash.
        prefix: the root with a trailing slash.
        parts: components of the cwd below the root.
        outside: the cwd itself is not below the root.
    """

    __slots__ = ("outside", "parts", "prefix", "root")

    def __init__(self, root: str, cwd: str) -> None:
        self.root = "/" + root.strip("/")
        self.prefix = self.root if self.root == "/" else self.root + "/"
        parts: list[str] = []
        self.outside = False
        if cwd.startswith("/"):
            if cwd.rstrip("/") == self.root:
                cwd = ""
            elif cwd.startswith(self.prefix):
                cwd = cwd[len(self.prefix) :]
            else:
                self.outside = True
                cwd = ""
        for part in cwd.split("/"):
            if part in ("", "."):
                continue
            if part != "..":
                parts.append(part)
            elif parts:
                parts.pop()
            else:
                self.outside = True
        self.parts = tuple(parts)


Check = Callable[[str, Place], str | None]
"""Judges a text: None when it fits, else a reason code."""

PathKind = Literal["", "path", "file", "dir"]

CommandKind = Literal["", "rest", "appended", "replaced", "terminated"]


@dataclass(frozen=True, slots=True)
class ValueType:
    """A type as it is used in a line.

    Attributes:
        text: as the line writes it.
        check: judges a text.
        dash: a word that begins with a dash may be one, also before ``--``.
        path: what a path must be at run time; "" when the text is not a path.
        writable: the program may create, change or remove the path.
        root: the named root a path lies below.
        anything: the type is ANY.
        prefix: how many fixed characters stand before the typed part of the word.
        command: the type is CMD in one of its forms.
    """

    text: str
    check: Check
    dash: bool = False
    path: PathKind = ""
    writable: bool = False
    root: str = "workspace"
    anything: bool = False
    command: CommandKind = ""
    prefix: int = 0
