"""TEXT, LINE, WORD, NAME and ENUM."""

from __future__ import annotations

import re

from policies.values.characters import text_fault
from policies.values.value import Check, Place

__all__ = ["NAME", "WORD", "enum_check", "text_check"]

WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+:@%-]*")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def text_check(low: int, high: int, allowed: str) -> Check:
    """Text of a length; ``allowed`` lists the control characters it may hold."""

    def check(word: str, place: Place) -> str | None:  # noqa: ARG001
        size = len(word)
        if size < low:
            return "value-range" if word else "empty-word"
        if size > high:
            return "value-range"
        if word.isascii() and word.isprintable():
            return None
        return text_fault(word, allowed)

    return check


def enum_check(words: frozenset[str]) -> Check:
    """One of the words."""

    def check(word: str, place: Place) -> str | None:  # noqa: ARG001
        if word in words:
            return None
        return "value-range" if word else "empty-word"

    return check
