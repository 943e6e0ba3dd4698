"""Fields: the typed reading of a table, with a diagnostic for everything unexpected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import Any

from policies.loading.document import Document
from policies.loading.positions import Path

__all__ = ["Fields"]


class Fields:
    """One table of a document."""

    def __init__(self, document: Document, path: Path, data: Mapping[str, Any]) -> None:
        self.document = document
        self.path = path
        self.data = data

    def only(self, known: Iterable[str], what: str) -> None:
        """Refuse keys that the schema does not have."""
        names = list(known)
        if all(key in names for key in self.data):
            return
        from difflib import get_close_matches

        for key in self.data:
            if key not in names:
                close = get_close_matches(key, names, 1, 0.6)
                fix = f"did you mean {close[0]}?" if close else f"known: {', '.join(names)}"
                self.fault(key, f"unknown key {key!r} in {what}", fix, at_key=True, width=len(key))

    def fault(
        self, key: str, message: str, fix: str = "", *, at_key: bool = False, width: int = 1
    ) -> None:
        """Note a fault at the value of a key, or at the key itself."""
        self.document.fault((*self.path, key), message, fix, key=at_key, width=width)

    def text(self, key: str, default: str = "") -> str:
        """A string."""
        value = self.data.get(key, default)
        if isinstance(value, str):
            return value
        self.fault(key, f"{key} must be a string")
        return default

    def texts(self, key: str) -> list[str]:
        """A list of strings; a single string counts as a list of one."""
        value = self.data.get(key, [])
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return list(value)
        self.fault(key, f"{key} must be a list of strings", f'write {key} = ["..."]')
        return []

    def flag(self, key: str, *, default: bool = False) -> bool:
        """True or false."""
        value = self.data.get(key, default)
        if isinstance(value, bool):
            return value
        self.fault(key, f"{key} must be true or false")
        return default

    def choice(self, key: str, choices: Iterable[str]) -> str | None:
        """One of some words, or None when absent."""
        if key not in self.data:
            return None
        value = self.data[key]
        known = list(choices)
        if isinstance(value, str) and value in known:
            return value
        self.fault(key, f"{key} must be one of {', '.join(known)}")
        return None

    def number(self, key: str, *, whole: bool) -> float | None:
        """A positive number, or None when absent."""
        if key not in self.data:
            return None
        value = self.data[key]
        kinds = (int,) if whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value < inf:
            kind = "a positive whole number" if whole else "a positive number"
            self.fault(key, f"{key} must be {kind}", "there is no unlimited")
            return None
        return value

    def table(self, key: str) -> Fields:
        """A table below this one; empty when absent."""
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            self.fault(key, f"{key} must be a table")
            value = {}
        return Fields(self.document, (*self.path, key), value)
