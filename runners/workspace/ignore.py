"""Patterns in gitignore syntax, matched in bounded time: they come from a folder we distrust."""

from __future__ import annotations

from collections.abc import Iterable

from runners.supervisor.fault import Refusal
from runners.supervisor.wildcard import Glob
from runners.workspace.name import to_bytes

__all__ = ["Ignore"]

MAX_LINES = 1_000  # each is tried on each name


class Pattern:
    """One line of an ignore file."""

    __slots__ = ("anchored", "glob", "negated", "only_folders")

    def __init__(self, text: str) -> None:
        self.negated = text.startswith("!")
        text = text[1:] if self.negated else text
        self.only_folders = text.endswith("/")
        text = text.removesuffix("/")
        self.anchored = "/" in text
        text = text.removeprefix("/")
        if {"", ".", ".."} & set(text.split("/")):
            raise Refusal("name", b"", "such a part matches nothing")
        text = text if self.anchored else "**/" + text
        self.glob = Glob(to_bytes(text))

    def matches(self, path: str, *, folder: bool) -> bool:
        """Whether this very path is meant, not something above it."""
        return (folder or not self.only_folders) and self.glob.matches(to_bytes(path))

    def may_match_below(self, folder: str) -> bool:
        """Whether something below a folder could be meant by this pattern's text."""
        return self.anchored and self.glob.may_match_below(to_bytes(folder))


class Ignore:
    """The patterns of an ignore file; the last one that matches decides."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self.patterns: list[Pattern] = []
        for line in lines:
            text = stripped(line)
            if text and len(self.patterns) < MAX_LINES:
                try:
                    self.patterns.append(Pattern(text))
                except Refusal:  # it can match nothing
                    continue

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def decides(self, path: str, *, folder: bool) -> bool | None:
        """True: ignored; False: taken back by ``!``; None: no pattern matches."""
        if not self.patterns:
            return None
        for pattern in reversed(self.patterns):
            if pattern.matches(path, folder=folder):
                return not pattern.negated
        return None

    def may_match_below(self, folder: str) -> bool:
        """Whether a pattern names something below a folder."""
        return any(pattern.may_match_below(folder) for pattern in self.patterns)


def stripped(line: str) -> str:
    """A line without comment, line end, and trailing blanks that are not escaped."""
    text = line.rstrip("\r\n")
    if text.startswith("#"):
        return ""
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    return text
