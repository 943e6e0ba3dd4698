"""Texts and lists of texts as TOML has them."""

from __future__ import annotations

import json

__all__ = ["quoted"]


def quoted(value: object) -> str:
    """A basic string, or an array of them; what no one could see, or steers a terminal, escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else "".join(map(_written, text))


def _written(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
