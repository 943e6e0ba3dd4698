"""Reads synopsis lines: the grammar of the policy language, section 3."""

from __future__ import annotations

import re
from collections.abc import Container

from policies.synopsis.error import SynopsisError
from policies.synopsis.options import OptionReader
from policies.synopsis.scanner import Scanner
from policies.synopsis.tree import (
    End,
    Glued,
    Group,
    Item,
    Line,
    Operand,
    Repeated,
    Style,
    Typed,
    TypeRef,
    Word,
)

__all__ = ["parse_synopsis", "parse_type"]

PROGRAM = re.compile(r"[A-Za-z0-9_.+-]+|\[")
LONGEST = 8192
LAST_TYPES = ("CMD", "CMD+")


def parse_synopsis(text: str, known: Container[str], style: Style = "gnu") -> Line:
    """The line that a text writes.

    Args:
        text: a synopsis line; any run of white space is one space.
        known: names of the types that may be used.
        style: how the program reads its options.

    Raises:
        SynopsisError: with the column inside the text.
    """
    return Parser(text, known, style).line()


def parse_type(text: str, known: Container[str]) -> TypeRef:
    """A type on its own, as ``[types]`` and ``env`` write it."""
    scanner = Scanner(text, known)
    scanner.space()
    ref = scanner.type()
    scanner.space()
    if scanner.at < len(text):
        raise scanner.fail("nothing may follow the type")
    return ref


class Parser(Scanner):
    """One line being read."""

    def __init__(self, text: str, known: Container[str], style: Style) -> None:
        super().__init__(text, known)
        self.style = style
        self.options = OptionReader(self)

    def line(self) -> Line:
        """The whole line."""
        if len(self.text) > LONGEST:
            raise self.fail(
                f"a line is at most {LONGEST} characters", "write two lines", at=LONGEST
            )
        self.space()
        program, file = self.program()
        items: list[Item] = []
        self.space()
        while self.peek():
            item = self.item()
            if items and is_last(items[-1]):
                raise SynopsisError(
                    "nothing may follow ANY... or a command type", column_of(item), "put it last"
                )
            items.append(item)
            self.space()
        style: Style = "posix" if any(has_command(item) for item in items) else self.style
        return Line(
            program, tuple(items), self.style if self.style == "words" else style, self.text, file
        )

    def program(self) -> tuple[str, TypeRef | None]:
        """The first word, or the type of ``./<FILE>``."""
        start = self.at
        if self.take("./<"):
            ref = self.type()
            if ref.name not in ("FILE", "PATH") or not self.take(">"):
                raise self.fail("a workspace program is written ./<FILE>", at=start)
            return "./", ref
        word = self.quoted() if self.peek() == "'" else self.run("<=")
        if word == "" and self.peek() == "[":
            self.at += 1
            word = "["
        if not word:
            raise self.fail("a program is expected here", "begin the line with its name")
        if "/" in word:
            raise self.fail(
                "a program is named by its bare name",
                "write the name; [program.X] paths limits where it lies; ./<FILE> is for "
                "workspace programs",
                at=start,
            )
        if PROGRAM.fullmatch(word) is None or word[0] == "-":
            raise self.fail(f"{word!r} cannot be the name of a program", at=start)
        if self.peek() and not self.peek().isspace():
            raise self.fail("a space is expected after the program")
        return word, None

    def item(self) -> Item:
        """An option, a group of options, or an operand."""
        if self.option_here():
            start = self.at
            return self.options.bare(start)
        if self.peek() in ("[", "("):
            start = self.at
            if self.group_of_options():
                return self.options.group(start)
        return self.operand()

    def option_here(self) -> bool:
        """Whether an option begins at this character."""
        if self.style == "words":
            return False
        sign = self.peek()
        if sign not in ("-", "+") or not sign:
            return False
        rest = self.text[self.at + 1 : self.at + 2]
        if not rest or rest.isspace() or rest in "[]()|,'" or self.peek(4) == sign + "...":
            return False
        return not (self.peek(2) == "--" and self.ends(self.at + 2))

    def ends(self, at: int) -> bool:
        rest = self.text[at : at + 1]
        return not rest or rest.isspace() or rest in "[]()|,"

    def group_of_options(self) -> bool:
        """Whether the bracket here opens a group of options."""
        before = self.at
        self.at += 1
        self.space()
        found = self.option_here()
        self.at = before
        return found

    def operand(self) -> Operand:
        """A term with an optional ``...``."""
        start = self.at
        term = self.term()
        if not self.dots():
            return term
        if isinstance(term, Group):
            return Group(term.alternatives, term.optional, repeat=True, column=start)
        if isinstance(term, Word | Typed | Glued):
            return Repeated(term, start)
        raise self.fail("-- cannot be repeated", at=start)

    def term(self) -> Operand:
        """A literal, a type, a template, ``--``, ``-`` or a group."""
        start = self.at
        character = self.peek()
        if character in ("[", "("):
            return self.group()
        if character == "'":
            return self.after_quote(start)
        if character in (")", "]", "|", ","):
            raise self.fail(f"unexpected {character}", "balance the brackets, or quote it")
        if character == "<":
            self.at += 1
            ref = self.type()
            self.close_angle()
            return Typed(ref, start)
        if self.type_here() and not self.prefixed():
            return Typed(self.type(), start)
        return self.literal(start)

    def prefixed(self) -> bool:
        """Whether a capital name here is a literal before ``=``, as in ``CC=ENUM(gcc)``."""
        found = re.compile(r"[A-Z][A-Z0-9_]*=").match(self.text, self.at)
        return found is not None and found.group() != "NAME="

    def after_quote(self, start: int) -> Operand:
        text = self.quoted()
        if self.peek() == "<":
            return self.angle(text, start)
        if text.endswith("=") and self.type_here():
            return Glued(text, self.type(), start)
        if not self.ends(self.at) and not self.dotted(self.at):
            raise self.fail("a quoted literal is a whole word", "quote all of it")
        return Word(text, start)

    def angle(self, prefix: str, start: int) -> Glued:
        self.at += 1
        ref = self.type()
        self.close_angle()
        return Glued(prefix, ref, start)

    def close_angle(self) -> None:
        if not self.take(">"):
            raise self.fail("> is expected here", "a glued type is written <TYPE>")

    def literal(self, start: int) -> Operand:
        """A bare literal, or a template of one and a type."""
        text = ""
        while True:
            text += self.run("<=")
            if self.peek() == "<":
                return self.angle(text, start)
            if self.peek() != "=":
                break
            self.at += 1
            text += "="
            if self.type_here():
                return Glued(text, self.type(), start)
        if text == "--" and self.style != "words":
            return End(start)
        if not text:
            raise self.fail(f"unexpected {self.peek()}", "quote it if it is meant literally")
        if text[0].isascii() and text[0].isupper():
            raise SynopsisError(
                f"a literal that begins with a capital is quoted: {text}",
                start,
                f"write '{text}'",
                width=len(text),
            )
        return Word(text, start)

    def group(self) -> Group:
        """``[a|b c]`` or ``(a|b c)`` of operands."""
        start = self.at
        closing = "]" if self.peek() == "[" else ")"
        self.at += 1
        alternatives: list[tuple[Operand, ...]] = []
        while True:
            alternatives.append(self.sequence(start, closing))
            if self.take(closing):
                break
            if not self.take("|"):
                raise self.fail(
                    f"{closing} or | is expected here",
                    "commas separate options only" if self.peek() == "," else "",
                )
        return Group(tuple(alternatives), closing == "]", column=start)

    def sequence(self, start: int, closing: str) -> tuple[Operand, ...]:
        operands: list[Operand] = []
        while True:
            self.space()
            character = self.peek()
            if not character:
                raise self.fail("the group is not closed", f"write {closing}", at=start)
            if character in ("|", closing):
                break
            if self.option_here():
                raise self.fail("a group holds options or operands, never both", "write two lines")
            operands.append(self.operand())
        if not operands:
            raise self.fail("an empty alternative", "write [a] for something optional")
        return tuple(operands)


def column_of(item: Item) -> int:
    return item.column


def is_last(item: Item) -> bool:
    """Whether nothing may follow."""
    if isinstance(item, Repeated) and isinstance(item.operand, Typed):
        return item.operand.type.name == "ANY"
    if isinstance(item, Typed):
        return item.type.name in LAST_TYPES or (item.type.name == "CMD" and item.type.args != ";")
    if isinstance(item, Group) and not item.repeat:
        tails = [alternative[-1] for alternative in item.alternatives]
        return len(tails) == 1 and is_last(tails[0])
    if isinstance(item, Group):
        ends = [a[0] for a in item.alternatives if len(a) == 1]
        return any(isinstance(e, Typed) and e.type.name == "ANY" for e in ends)
    return False


def has_command(item: Item) -> bool:
    """Whether a command type stands in the item."""
    if isinstance(item, Typed):
        return item.type.name in LAST_TYPES
    if isinstance(item, Repeated):
        return has_command(item.operand)
    if isinstance(item, Group):
        return any(has_command(part) for alternative in item.alternatives for part in alternative)
    return False
