"""INT, FLOAT, DURATION, SIZE and MODE."""

from __future__ import annotations

import re

from policies.values.value import Check, Place

__all__ = ["HIGHEST", "float_check", "int_check", "pattern_check"]

HIGHEST = 10**18
INT = re.compile(r"-?(0|[1-9][0-9]{0,17})")
FLOAT = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")
PATTERNS = {
    "DURATION": re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?(ms|s|m|h|d)?"),
    "SIZE": re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?([KMGTPE]i?)?B?", re.IGNORECASE),
    "MODE": re.compile(r"0?[0-7]{3}|[ugoa]*[+=-][rwxX]+(,[ugoa]*[+=-][rwxX]+)*"),
}


def int_check(low: int, high: int) -> Check:
    """An integer in an inclusive range, in the one spelling that every program reads alike."""
    fullmatch = INT.fullmatch

    def check(word: str, place: Place) -> str | None:  # noqa: ARG001
        usual = len(word) < 10 and word.isascii() and word.isdigit() and word[0] != "0"
        if not usual and fullmatch(word) is None:
            return "value-type" if word else "empty-word"
        return None if low <= int(word) <= high else "value-range"

    return check


def float_check(low: float, high: float) -> Check:
    """A decimal number in an inclusive range."""

    def check(word: str, place: Place) -> str | None:  # noqa: ARG001
        if FLOAT.fullmatch(word) is None:
            return "value-type" if word else "empty-word"
        return None if low <= float(word) <= high else "value-range"

    return check


def pattern_check(pattern: re.Pattern[str], longest: int = 255) -> Check:
    """A whole word that a pattern without repeats inside repeats describes."""
    fullmatch = pattern.fullmatch

    def check(word: str, place: Place) -> str | None:  # noqa: ARG001
        if not word:
            return "empty-word"
        return "value-type" if len(word) > longest or fullmatch(word) is None else None

    return check
