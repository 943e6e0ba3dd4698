"""Where the keys and values of a TOML text stand. The text is known to be valid TOML."""

from __future__ import annotations

import re

__all__ = ["Path", "TomlPositions"]

Path = tuple[str | int, ...]

BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
SPACE = re.compile(r"[ \t]*")
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
SCALAR = re.compile(r"[^,\]}#\n]+")
ESCAPES = {"b": 1, "t": 1, "n": 1, "f": 1, "r": 1, '"': 1, "\\": 1, "u": 5, "U": 9}


class TomlPositions:
    """Offsets of keys and values by their path; tables of an array are numbered from 0."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.keys: dict[Path, int] = {}
        self.values: dict[Path, int] = {}
        self.counts: dict[Path, int] = {}
        self.at = 0
        self.read()

    def read(self) -> None:
        """Read the whole text."""
        text = self.text
        table: Path = ()
        while True:
            self.blank()
            if self.at >= len(text):
                return
            if text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)

    def blank(self) -> None:
        """Go past white space, newlines and comments."""
        found = BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def space(self) -> None:
        """Go past spaces and tabs."""
        found = SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def header(self) -> Path:
        """A ``[table]`` or ``[[table]]``."""
        start = self.at
        several = self.text.startswith("[[", self.at)
        self.at += 2 if several else 1
        self.space()
        path: Path = ()
        names = self.key()
        for index, name in enumerate(names):
            path = (*path, name)
            last = index == len(names) - 1
            if last and several:
                number = self.counts.get(path, -1) + 1
                self.counts[path] = number
                self.keys.setdefault(path, start)
                path = (*path, number)
            elif path in self.counts:
                path = (*path, self.counts[path])
        self.keys[path] = start
        self.values[path] = start
        self.at = self.text.index("]", self.at) + (2 if several else 1)
        return path

    def key(self) -> list[str]:
        """A dotted key."""
        names: list[str] = []
        while True:
            self.space()
            if self.text[self.at] in "\"'":
                start = self.at
                self.string()
                names.append(self.text[start + 1 : self.at - 1])
            else:
                found = BARE_KEY.match(self.text, self.at)
                if found is None:
                    return names
                names.append(found.group())
                self.at = found.end()
            self.space()
            if self.text[self.at : self.at + 1] != ".":
                return names
            self.at += 1

    def pair(self, table: Path) -> None:
        """``key = value``."""
        start = self.at
        names = self.key()
        path = table
        for name in names:
            path = (*path, name)
            self.keys.setdefault(path, start)
        self.space()
        self.at += 1  # =
        self.space()
        self.value(path)

    def value(self, path: Path) -> None:
        """Any value."""
        self.values[path] = self.at
        character = self.text[self.at]
        if character == "[":
            self.array(path)
        elif character == "{":
            self.inline_table(path)
        elif character in "\"'":
            self.string()
        else:
            found = SCALAR.match(self.text, self.at)
            self.at = found.end() if found else self.at + 1

    def array(self, path: Path) -> None:
        """``[ ... ]``."""
        self.at += 1
        index = 0
        while True:
            self.blank()
            if self.text[self.at] == "]":
                self.at += 1
                return
            self.value((*path, index))
            index += 1
            self.blank()
            if self.text[self.at] == ",":
                self.at += 1

    def inline_table(self, path: Path) -> None:
        """``{ ... }``."""
        self.at += 1
        while True:
            self.blank()
            if self.text[self.at] == "}":
                self.at += 1
                return
            self.pair(path)
            self.blank()
            if self.text[self.at] == ",":
                self.at += 1

    def string(self) -> None:
        """A string of any of the four kinds."""
        quote = self.text[self.at]
        triple = self.text.startswith(quote * 3, self.at)
        mark = quote * 3 if triple else quote
        self.at += len(mark)
        while not self.text.startswith(mark, self.at):
            self.at += 2 if quote == '"' and self.text[self.at] == "\\" else 1
        self.at += len(mark)
        while triple and self.text[self.at : self.at + 1] == quote:
            self.at += 1

    def inside(self, path: Path, column: int) -> int:
        """The offset of a character of a string value, counted in the decoded text."""
        start = self.values[path]
        text = self.text
        quote = text[start : start + 1]
        if quote not in ("'", '"') or not quote:
            return start
        triple = text.startswith(quote * 3, start)
        at = start + (3 if triple else 1)
        if triple:
            at += 2 if text.startswith("\r\n", at) else int(text.startswith("\n", at))
        for _ in range(column):
            at = self.after(at, quote)
        while quote == '"' and (skipped := line_ending(text, at)) != at:
            at = skipped
        return min(at, max(len(text) - 1, 0))

    def after(self, at: int, quote: str) -> int:
        """The offset after one decoded character."""
        text = self.text
        if quote == "'" or text[at : at + 1] != "\\":
            return at + 1
        skipped = line_ending(text, at)
        if skipped != at:
            return self.after(skipped, quote)
        return at + 1 + ESCAPES.get(text[at + 1 : at + 2], 1)


LINE_ENDING = re.compile(r"\\[ \t]*\r?\n[ \t\r\n]*")


def line_ending(text: str, at: int) -> int:
    """The offset after a back-slash that joins lines."""
    found = LINE_ENDING.match(text, at)
    return found.end() if found else at
