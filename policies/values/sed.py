"""SED: scripts of sed that can neither run a program nor open a file.

sed joins the scripts of several ``-e`` with newlines, so a piece that leaves something open would
change what the next one means. Each piece is therefore whole: it closes its braces, its last text
ends in it, and it does not end with a back-slash. What two releases of sed read in two ways is
refused, too.
"""

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

TEXT = re.compile(r"(?:\\\n[ \t]*+|[ \t]*+(?!\\[ \t]*\\?\n))(?:[^\\\n]|\\.|\\\n(?=.))++(?=\n|\Z)")
"""What stands behind ``a`` and its blanks: on the same line, or on lines that a back-slash
continues. One that is followed by blanks and the end of the line is read in two ways."""
BRACKET = re.compile(r"\^?\]?(?:\[:[a-z]+:\]|\[(?![.:=])|[^]\[\\\n]|\\(?!\]))*+\]")
"""A bracket expression behind its first bracket; only named classes nest in it."""
BLANKS = re.compile(r"[ \t\n;]*")
ADDRESS = r"(?:[0-9]{1,18}|\$|/(?:[^/\\\[\n]|\\[^\n])*+/)"
ADDRESSES = re.compile(rf"(?:{ADDRESS}(?:,{ADDRESS})?[ \t]*+)?+(?=[pdDPnNgGhHxq=saicy{{}}])")
"""Addresses without steps, flags and brackets, before a command of the subset."""
PLAIN = frozenset("pdDPnNgGhHxq={}")
MARKS = frozenset("/|,#:@!%_~+=-^*?.\"'<>")
"""What may stand around the parts of ``s``, ``y`` and expressions: never what ends a command."""
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
            self.at += 1
            self.delimited(self.mark(), regular=True)
        else:
            return False
        self.skip("IM")
        return True

    def number(self) -> None:
        start = self.at
        self.skip("0123456789")
        if self.at == start or self.at - start > 18:
            raise RefusedError

    def delimited(self, mark: str, *, regular: bool = False, lines: bool = False) -> None:
        """Go past the next unescaped mark; inside a bracket of an expression it is a character.

        A line ends only in the replacement of ``s`` (``lines``), and only behind a back-slash.
        """
        while True:
            found = ordinary(mark, regular=regular, lines=lines).match(self.text, self.at)
            self.at = found.end() if found is not None else self.at
            character = self.peek()
            self.at += 1
            if character == mark:
                return
            if character != "[" or not regular:
                raise RefusedError
            self.bracket(mark)

    def bracket(self, mark: str) -> None:
        """Go past a bracket expression, in which the mark is an ordinary character.

        A back-slash before the closing bracket, and a mark beside a named class, are read in two
        ways: refused.
        """
        found = BRACKET.match(self.text, self.at)
        if found is None or ("[:" in found[0] and mark in found[0]):
            raise RefusedError
        self.at = found.end()

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
            self.comment()
            return
        else:
            raise RefusedError
        self.separator()

    def comment(self) -> None:
        """To the end of the line; ``#n`` in front is an option, a last back-slash reads on."""
        if self.at == 1 and self.peek() == "n":
            raise RefusedError
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end
        if self.text[self.at - 1] == "\\":
            raise RefusedError

    def separator(self) -> None:
        self.skip(" \t")
        if self.peek() and self.peek() not in ";\n}#":
            raise RefusedError

    def mark(self) -> str:
        mark = self.peek()
        if mark not in MARKS:
            raise RefusedError
        self.at += 1
        return mark

    def substitution(self) -> None:
        mark = self.mark()
        self.delimited(mark, regular=True)
        self.delimited(mark, lines=True)
        while self.peek() and self.peek() in SUBSTITUTE_FLAGS:
            self.at += 1

    def transliteration(self) -> None:
        mark = self.mark()
        self.delimited(mark)
        self.delimited(mark)

    def plain_text(self) -> None:
        """``a text`` to the end of the line; a back-slash continues it."""
        self.skip(" \t")
        found = TEXT.match(self.text, self.at)
        if found is None:
            raise RefusedError
        self.at = found.end()


@cache
def ordinary(mark: str, *, regular: bool, lines: bool) -> re.Pattern[str]:
    """What goes on: no mark, no bracket of an expression, no line's end but an escaped one."""
    ends = re.escape(mark) + (r"\[" if regular else "")
    escaped = r"\\(?:.|\n)" if lines else r"\\."
    return re.compile(rf"(?:[^\\\n{ends}]|{escaped})*+")


def sed_check(word: str, place: Place) -> str | None:  # noqa: ARG001
    """A sed script of the checked subset."""
    if not word:
        return "empty-word"
    if len(word) > 4096:
        return "value-range"
    if word[-1] == "\\":
        return "value-type"
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
