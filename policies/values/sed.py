"""SED: scripts of sed that can neither run a program nor open a file."""

from __future__ import annotations

import re
from functools import cache

from policies.values.characters import text_fault
from policies.values.value import Place

__all__ = ["sed_check"]

SIMPLE = re.compile(
    r"(?:(?:[0-9]{1,9}|\$)(?:,(?:[0-9]{1,9}|\$))?[pdq=]"
    r"|(?:(?:[0-9]{1,9}|\$)(?:,(?:[0-9]{1,9}|\$))?)?s/[^/\\\[\n]*/[^/\\\n]*/[gpI0-9]*)"
)
"""The scripts that most people write; what they match is in the subset without being read."""

TEXT_LINE = re.compile(r"(?:[^\\\n]|\\(?:.|\n|$))*")
BLANKS = re.compile(r"[ \t\n;]*")
ADDRESS = r"(?:[0-9]{1,18}|\$|/(?:[^/\\\[\n]|\\[^\n])*+/)"
ADDRESSES = re.compile(rf"(?:{ADDRESS}(?:,{ADDRESS})?[ \t]*+)?+(?=[pdDPnNgGhHxq=saicy{{}}])")
"""Addresses without steps, flags and brackets, before a command of the subset."""
PLAIN = frozenset("pdDPnNgGhHxq={}")
USUAL_MARKS = frozenset("/|,#:@!%;_~+=")
SUBSTITUTE_FLAGS = frozenset("gpiImM0123456789")
TEXT_COMMANDS = frozenset("aic")


class RefusedError(Exception):
    """The script holds something outside of the subset."""


class Script:
    """A reader of one script, command by command, as GNU sed reads it."""

    __slots__ = ("at", "depth", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip(self, characters: str) -> None:
        while self.peek() and self.peek() in characters:
            self.at += 1

    def read(self) -> None:
        """Read the whole script; raises RefusedError."""
        text = self.text
        while True:
            found = BLANKS.match(text, self.at)
            self.at = found.end() if found is not None else self.at
            if self.at == len(text):
                break
            found = ADDRESSES.match(text, self.at)
            if found is not None:
                self.at = found.end()
            else:
                self.addresses()
            self.command()
        if self.depth:
            raise RefusedError

    def addresses(self) -> None:
        if self.address():
            self.skip(" \t")
            if self.peek() == ",":
                self.at += 1
                self.skip(" \t")
                if self.peek() and self.peek() in "+~":
                    self.at += 1
                    self.number()
                elif not self.address():
                    raise RefusedError
        self.skip(" \t")
        while self.peek() == "!":
            self.at += 1
            self.skip(" \t")

    def address(self) -> bool:
        character = self.peek()
        if character.isdigit() and character.isascii():
            self.number()
            if self.peek() == "~":
                self.at += 1
                self.number()
            return True
        if character == "$":
            self.at += 1
            return True
        if character == "/":
            self.at += 1
            self.delimited("/", regular=True)
        elif character == "\\":
            mark = self.text[self.at + 1 : self.at + 2]
            if mark in ("", "\n", "\\"):
                raise RefusedError
            self.at += 2
            self.delimited(mark, regular=True)
        else:
            return False
        self.skip("IM")
        return True

    def number(self) -> None:
        start = self.at
        self.skip("0123456789")
        if self.at == start or self.at - start > 18:
            raise RefusedError

    def delimited(self, mark: str, *, regular: bool) -> None:
        """Go past the next unescaped mark; inside a bracket of an expression it is a character."""
        if mark in USUAL_MARKS:
            found = ordinary(mark, regular=regular).match(self.text, self.at)
            self.at = found.end() if found is not None else self.at
        while True:
            character = self.peek()
            if not character or (character == "\n" and regular):
                raise RefusedError
            self.at += 1
            if character == mark:
                return
            if character == "\\":
                if not self.peek():
                    raise RefusedError
                self.at += 1
            elif character == "[" and regular:
                self.bracket()

    def bracket(self) -> None:
        """Go past a bracket expression, in which the mark is an ordinary character.

        A back-slash before the closing bracket is read in two ways: refused.
        """
        self.skip("^")
        if self.peek() == "]":
            self.at += 1
        while True:
            character = self.peek()
            if not character or character == "\n":
                raise RefusedError
            self.at += 1
            if character == "]":
                return
            if character == "\\" and self.peek() == "]":
                raise RefusedError
            if character == "[" and self.peek() and self.peek() in ".:=":
                close = self.text.find(self.peek() + "]", self.at + 1)
                if close < 0:
                    raise RefusedError
                self.at = close + 2

    def command(self) -> None:
        character = self.peek()
        if not character:
            raise RefusedError
        self.at += 1
        if character == "s":
            self.substitution()
        elif character == "y":
            self.transliteration()
        elif character in TEXT_COMMANDS:
            self.plain_text()
            return
        elif character in PLAIN:
            if character == "{":
                self.depth += 1
                return
            if character == "}":
                self.depth -= 1
                if self.depth < 0:
                    raise RefusedError
            if character == "q":
                self.skip(" \t")
                self.skip("0123456789")
        elif character == "#":
            if self.at == 1 and self.peek() == "n":
                raise RefusedError
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
            return
        else:
            raise RefusedError
        self.separator()

    def separator(self) -> None:
        self.skip(" \t")
        if self.peek() and self.peek() not in ";\n}#":
            raise RefusedError

    def mark(self) -> str:
        mark = self.peek()
        if not mark or mark in "\\\n; ":
            raise RefusedError
        self.at += 1
        return mark

    def substitution(self) -> None:
        mark = self.mark()
        self.delimited(mark, regular=True)
        self.delimited(mark, regular=False)
        while self.peek() and self.peek() in SUBSTITUTE_FLAGS:
            self.at += 1

    def transliteration(self) -> None:
        mark = self.mark()
        self.delimited(mark, regular=False)
        self.delimited(mark, regular=False)

    def plain_text(self) -> None:
        """``a text`` to the end of the line; a back-slash continues it."""
        self.skip(" \t")
        if self.peek() == "\\":
            self.at += 1
            self.skip(" \t")
            if self.peek() == "\n":
                self.at += 1
        found = TEXT_LINE.match(self.text, self.at)
        self.at = found.end() if found is not None else len(self.text)


@cache
def ordinary(mark: str, *, regular: bool) -> re.Pattern[str]:
    """What goes on: no mark, no bracket of an expression, no line's end in one."""
    ends = re.escape(mark) + (r"\[\n" if regular else "")
    return re.compile(rf"(?:[^\\{ends}]|\\(?:.|\n))*+")


def sed_check(word: str, place: Place) -> str | None:  # noqa: ARG001
    """A sed script of the checked subset."""
    if not word:
        return "empty-word"
    if len(word) > 4096:
        return "value-range"
    if word.isascii() and word.isprintable():
        if SIMPLE.fullmatch(word) is not None:
            return None
    else:
        fault = text_fault(word, "\n\t")
        if fault is not None:
            return fault
    try:
        Script(word).read()
    except RefusedError:
        return "value-type"
    return None
