"""Reading what a provider sent: a value of the wrong type counts as absent."""

from __future__ import annotations

__all__ = ["number_or_none", "text_or_empty"]


def text_or_empty(value: object) -> str:
    """A text, or "" in place of anything else."""
    return value if isinstance(value, str) else ""


def number_or_none(value: object) -> int | None:
    """A whole number, or None in place of anything else; a boolean is no number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
