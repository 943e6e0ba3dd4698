"""Characters that have no business in a word: controls, formats, bidi marks, false dashes."""

from __future__ import annotations

from functools import cache

__all__ = ["LOOKALIKES", "character_fault", "is_bidi", "text_fault"]

LOOKALIKES = frozenset([*map(chr, range(0x2010, 0x2016)), "\u2212", "\ufe58", "\ufe63", "\uff0d"])
"""Characters that a reader takes for a dash: refused as the first of a path or text."""

BIDI = frozenset([*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))])
BIDI_MARKS = BIDI | {"\u200e", "\u200f", "\u061c"}


@cache
def category(character: str) -> str:
    """The Unicode general category."""
    import unicodedata

    return unicodedata.category(character)


def is_bidi(character: str) -> bool:
    """Whether the character changes the direction in which text is shown."""
    return character in BIDI_MARKS


def character_fault(word: str) -> str | None:
    """The fault of a word that must be one visible line without format characters."""
    if word[:1] in LOOKALIKES:
        return "lookalike"
    if word.isprintable():
        return None
    if any(category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs") for c in word):
        return "control-char"
    return None


def text_fault(word: str, allowed: str) -> str | None:
    """The fault of a text: no controls but the allowed ones, no bidi controls."""
    if word[:1] in LOOKALIKES:
        return "lookalike"
    plain = word
    for control in allowed:
        plain = plain.replace(control, "")
    if plain.isprintable():
        return None
    for character in word:
        if character in allowed:
            continue
        if character in BIDI_MARKS or category(character) in ("Cc", "Zl", "Zp", "Cs"):
            return "control-char"
    return None
