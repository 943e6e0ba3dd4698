"""Guesses: the narrowest type that admits a word, and a line for a command."""

from __future__ import annotations

import re
from functools import cache

from policies.synopsis import parse_type
from policies.values.catalogue import Catalogue
from policies.values.value import Place, ValueType

__all__ = ["admits", "admitted_by", "guess_type", "line_for", "widened"]

LADDER = ("INT", "FLOAT", "NAME", "WORD", "REV", "PATH", "LINE(1..200)", "TEXT")
INT = re.compile(r"INT(?:\((-?[0-9]*)\.\.(-?[0-9]*)\))?")
TEXT = re.compile(r"(TEXT|LINE)(?:\(([0-9]*)\.\.([0-9]*)\))?")
ENUM = re.compile(r"ENUM\(([^)]*)\)")
SUBCOMMAND = re.compile(r"[a-z][a-z0-9-]*")
HERE = Place("/workspace", ".")


@cache
def checks() -> tuple[tuple[str, ValueType], ...]:
    """The types of the ladder."""
    catalogue = Catalogue()
    return tuple((name, catalogue.resolve(parse_type(name, catalogue))) for name in LADDER)


def admitted_by(word: str) -> str | None:
    """The narrowest type that admits a word; never ANY."""
    for name, value in checks():
        if value.check(word, HERE) is None:
            return name
    return None


def admits(kind: str, word: str) -> bool:
    """Whether one of the types of the ladder admits a word."""
    value = dict(checks())[kind]
    return value.check(word, HERE) is None


def guess_type(word: str) -> str:
    """The same, with PATH for what looks like a file."""
    if "/" in word or re.fullmatch(r"[\w-]+\.[A-Za-z]{1,5}", word):
        return "PATH"
    return admitted_by(word) or "TEXT"


def widened(type_text: str, word: str) -> str | None:
    """A range or a list of words that also admits this one, or None when that goes too far."""
    found = INT.fullmatch(type_text)
    if found is not None and re.fullmatch(r"-?[0-9]{1,18}", word):
        value = int(word)
        low, high = int(found[1] or 0), int(found[2] or 10**18)
        if value > high:
            return f"INT({low}..{value})" if value <= 10 * max(abs(high), 1) else None
        return f"INT({value}..{high})" if abs(value) <= 10 * max(abs(low), 1) else None
    found = TEXT.fullmatch(type_text)
    if found is not None:
        high = int(found[3] or 4096)
        low = int(found[2] or 1)
        if high < len(word) <= 10 * high:
            return f"{found[1]}({low}..{len(word)})"
        return f"{found[1]}({len(word)}..{high})" if len(word) < low else None
    found = ENUM.fullmatch(type_text)
    if found is not None and re.fullmatch(r"[\w.+-]+", word):
        return f"ENUM({found[1]},{word})"
    return None


def line_for(argv: tuple[str, ...]) -> str | None:
    """A line for one command: options exact, the rest by type; None for words no type takes."""
    parts = [argv[0]]
    rest = list(argv[1:])
    if rest and SUBCOMMAND.fullmatch(rest[0]) and "." not in rest[0]:
        parts.append(rest.pop(0))
    for word in rest:
        if word == "--":
            parts.append("[--]")
        elif word.startswith("-") and len(word) > 1:
            name, equals, value = word.partition("=")
            if not re.fullmatch(r"--?[A-Za-z0-9][A-Za-z0-9-]*", name):
                return None
            parts.append(f"[{name}={guess_type(value)}]" if equals else f"[{name}]")
        else:
            parts.append(guess_type(word))
    return " ".join(parts)
