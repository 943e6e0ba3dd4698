"""PATH, FILE and DIR: texts that stay below the workspace whatever the program makes of them.

The text is only half of it: the box opens the real path again before the program starts.
"""

from __future__ import annotations

from policies.values.characters import character_fault
from policies.values.value import Check, Place
from policies.verdict import PROTECTED

__all__ = ["Protection", "path_check"]

LONGEST = 4095
NOT_PLAIN = frozenset("@+~|")


class Protection:
    """The protected names of a policy: single components, or runs of components."""

    __slots__ = ("names", "runs")

    def __init__(self, entries: tuple[str, ...] = PROTECTED) -> None:
        split = [tuple(part for part in entry.split("/") if part) for entry in entries]
        self.names = frozenset(run[0] for run in split if len(run) == 1)
        self.runs = tuple(run for run in split if len(run) > 1)

    def covers(self, parts: tuple[str, ...]) -> bool:
        """Whether a path with these components is protected."""
        if not self.names.isdisjoint(parts):
            return True
        for run in self.runs:
            if run[0] in parts:
                width = len(run)
                if any(parts[at : at + width] == run for at in range(len(parts) - width + 1)):
                    return True
        return False


def path_check(
    *,
    writable: bool = False,
    odd: bool = False,
    named: bool = False,
    protection: Protection,
    below: str | None = None,
) -> Check:
    """The check of a path type; ``below`` is the absolute path of a named root.

    A ``named`` path goes elsewhere under its own name, which must not be a protected one.
    """
    unguarded = not (writable or named)

    def check(word: str, place: Place) -> str | None:
        if not word:
            return "empty-word"
        if not (word.isascii() and word.isprintable()):
            fault = character_fault(word)
            if fault is not None:
                return fault
        if len(word) > LONGEST:
            return "value-range"
        if not odd and (
            word[0] in NOT_PLAIN or word == "-" or ((":" in word or "=" in word) and has_mark(word))
        ):
            return "path-form"
        if below is not None:
            place = Place(below, ".")
            if word[0] != "/":
                return "path-escape"
        if unguarded and word[0] != "/" and ".." not in word and not place.outside:
            return None
        parts = resolved(word, place)
        if parts is None:
            return "path-escape"
        if unguarded or not protection.covers(parts if writable else parts[-1:]):
            return None
        return "path-protected"

    return check


def has_mark(word: str) -> bool:
    """``host:path`` or ``name=value`` in the first component."""
    first = word.partition("/")[0]
    return ":" in first or "=" in first


def resolved(word: str, place: Place) -> tuple[str, ...] | None:
    """Components below the root, or None when the path leaves it, even for a moment."""
    if word[0] == "/":
        if word.rstrip("/") == place.root.rstrip("/"):
            return ()
        if not word.startswith(place.prefix):
            return None
        parts: list[str] = []
        rest = word[len(place.prefix) :]
    else:
        if place.outside:
            return None
        parts = list(place.parts)
        rest = word
    for part in rest.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return tuple(parts)
