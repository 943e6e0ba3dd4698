"""Scanner: the characters of a synopsis line, and the small things that are read from them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from policies.synopsis.error import SynopsisError
from policies.synopsis.tree import TypeRef

__all__ = ["MODIFIERS", "Scanner"]

TYPE_NAME = re.compile(r"[A-Z][A-Z0-9_]*\+?")
ROOT_NAME = re.compile(r"[a-z][a-z0-9_-]*")
SPACE = " \t\r\n"
STRUCTURE = frozenset("[]()|,'") | frozenset(SPACE)
MODIFIERS = ("rw", "dash", "odd", "named")


class Scanner:
    """Reads a line from left to right."""

    def __init__(self, text: str, known: Container[str]) -> None:
        self.text = text
        self.known = known
        self.at = 0

    def fail(self, message: str, fix: str = "", *, at: int | None = None) -> SynopsisError:
        """The error at a column (default: here)."""
        return SynopsisError(message, self.at if at is None else at, fix)

    def peek(self, width: int = 1) -> str:
        """The next characters, fewer at the end."""
        return self.text[self.at : self.at + width]

    def space(self) -> None:
        """Go past white space."""
        while self.peek() and self.peek() in SPACE:
            self.at += 1

    def take(self, text: str) -> bool:
        """Go past a text if it stands here."""
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def dots(self) -> bool:
        """Go past ``...``, also after spaces; whether it was there."""
        before = self.at
        self.space()
        if self.take("..."):
            return True
        self.at = before
        return False

    def quoted(self) -> str:
        """A literal in quotes; nothing inside is special."""
        start = self.at
        close = self.text.find("'", start + 1)
        if close < 0:
            raise self.fail("the quote is not closed", "close the literal with '", at=start)
        self.at = close + 1
        return self.text[start + 1 : close]

    def run(self, stops: str = "") -> str:
        """Characters up to structure, ``...`` or one of the stops."""
        start = self.at
        while True:
            character = self.peek()
            if not character or character in STRUCTURE or character in stops:
                break
            if character == "." and self.at > start and self.peek(3) == "...":
                break
            self.at += 1
        return self.text[start : self.at]

    def type_here(self) -> bool:
        """Whether a type name stands here, as a whole word."""
        found = TYPE_NAME.match(self.text, self.at)
        if found is None:
            return False
        after = self.text[found.end() : found.end() + 1]
        return not after or after in STRUCTURE or after in ":@=>}" or self.dotted(found.end())

    def dotted(self, at: int) -> bool:
        """Whether ``...`` stands at a column."""
        return self.text.startswith("...", at)

    def type(self) -> TypeRef:
        """A type with its arguments and modifiers."""
        start = self.at
        found = TYPE_NAME.match(self.text, start)
        if found is None:
            raise self.fail("a type is expected here", "types are written in capitals: PATH")
        name = found.group()
        self.at = found.end()
        if name not in self.known:
            raise SynopsisError(
                f"unknown type {name}", start, type_fix(name, self.known), width=len(name)
            )
        args = self.arguments(name) if self.peek() == "(" else None
        root = None
        if self.take("@"):
            root = self.name_after("@", ROOT_NAME)
        modifiers: list[str] = []
        while self.peek() == ":":
            self.at += 1
            modifier = self.name_after(":", ROOT_NAME)
            if modifier not in MODIFIERS:
                raise self.fail(
                    f"unknown modifier :{modifier}",
                    "one of :rw :dash :odd",
                    at=self.at - len(modifier),
                )
            modifiers.append(modifier)
        value = None
        if name == "NAME" and self.take("="):
            value = self.type()
        return TypeRef(name, args, tuple(modifiers), root, value, start)

    def name_after(self, mark: str, pattern: re.Pattern[str]) -> str:
        """A name that must follow a mark."""
        found = pattern.match(self.text, self.at)
        if found is None:
            raise self.fail(f"a name is expected after {mark}")
        self.at = found.end()
        return found.group()

    def arguments(self, name: str) -> str:
        """The text between the parentheses."""
        start = self.at
        if name == "RE":
            close = self.text.find("/)", start + 2)
            while close > 0 and self.escaped(close):
                close = self.text.find("/)", close + 1)
            if self.peek(2) != "(/" or close < 0:
                raise self.fail("an expression is written RE(/x/)", at=start)
            self.at = close + 2
            return self.text[start + 2 : close]
        close = start + 1
        while close < len(self.text) and self.text[close] != ")":
            if self.text[close] == "'":
                self.at = close
                self.quoted()
                close = self.at
            else:
                close += 1
        if close >= len(self.text):
            raise self.fail("the parenthesis is not closed", "write )", at=start)
        self.at = close + 1
        return self.text[start + 1 : close]

    def escaped(self, at: int) -> bool:
        """Whether an odd number of back-slashes stands before a column."""
        count = 0
        while at - count > 0 and self.text[at - count - 1] == "\\":
            count += 1
        return count % 2 == 1


def type_fix(name: str, known: Container[str]) -> str:
    """A hint for an unknown type."""
    from difflib import get_close_matches

    names = list(known) if isinstance(known, Iterable) else []
    close = get_close_matches(name, names, 1, 0.6)
    if close:
        return f"did you mean {close[0]}?"
    return f"declare it in [types], or quote the literal: '{name}'"
