"""Texts for the model: no host paths, bounded, and honest about what is missing."""

from __future__ import annotations

import re

__all__ = ["safe_message", "shorten", "without_host_paths"]

MESSAGE_CHARACTERS = 2000
"""An unexpected error says no more than this."""

_ABSOLUTE = re.compile(r"(?<![\w./:-])/(?:[^\s'\"`:;,()<>\[\]{}|]+)")


def safe_message(error: BaseException, said: str = "") -> str:
    """The text of an unexpected error for the model.

    Absolute paths are the host's business: they are left out, unless the model itself wrote them
    (in ``said``, the raw text of its arguments).
    """
    if isinstance(error, OSError) and error.strerror:
        named = f": {error.filename}" if isinstance(error.filename, str) else ""
        text = f"{error.strerror}{named}"
    else:
        try:
            text = str(error)
        except Exception:  # an exception whose own text raises
            text = ""
    text = text.strip() or type(error).__name__
    return shorten(without_host_paths(text, said), MESSAGE_CHARACTERS)


def without_host_paths(text: str, said: str = "") -> str:
    """A text whose absolute paths are replaced by a mark, unless they occur in ``said``."""

    def mark(found: re.Match[str]) -> str:
        path = found.group()
        return path if path in said else "<path>"

    return _ABSOLUTE.sub(mark, text) if "/" in text else text


def shorten(text: str, limit: int) -> str:
    """The text, or its head and tail with the number of characters left out between."""
    if len(text) <= limit:
        return text
    head = max(limit * 2 // 3, 1)
    tail = max(limit - head, 0)
    mark = f"\n[... {len(text) - head - tail} of {len(text)} characters left out ...]\n"
    return text[:head] + mark + (text[-tail:] if tail else "")
