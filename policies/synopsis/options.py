"""Reads the options of a synopsis line in all their spellings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policies.synopsis.error import SynopsisError
from policies.synopsis.tree import Choice, Option, OptionGroup, Part, TypeRef, Word

if TYPE_CHECKING:
    from policies.synopsis.parser import Parser

__all__ = ["OptionReader"]

MOST_VALUES = 4


class OptionReader:
    """The part of the parser that reads options."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser

    def bare(self, start: int) -> OptionGroup:
        """An option outside of a group: it must occur."""
        option = self.option(most=1, literals=False)
        if self.parser.dots():
            option = repeated(option)
        return OptionGroup((Choice((option,)),), required=True, bare=True, column=start)

    def group(self, start: int) -> OptionGroup:
        """``[a, b|c]`` or ``(a|b)``, with an optional ``...`` behind it."""
        scan = self.parser
        closing = "]" if scan.peek() == "[" else ")"
        scan.at += 1
        choices: list[Choice] = []
        while True:
            choices.append(self.choice(start, closing))
            if scan.take(closing):
                break
            if not scan.peek():
                raise scan.fail("the group is not closed", f"write {closing}", at=start)
            if not scan.take(","):
                raise scan.fail(f"{closing}, | or a comma is expected here")
            if closing == ")":
                raise scan.fail(
                    "( ) holds one choice", "write a ( ) of its own for each", at=scan.at - 1
                )
        return OptionGroup(tuple(choices), closing == ")", repeat=scan.dots(), column=start)

    def choice(self, start: int, closing: str) -> Choice:
        """``a|b``: options that exclude each other."""
        scan = self.parser
        options: list[Option] = []
        while True:
            scan.space()
            if not scan.peek():
                raise scan.fail("the group is not closed", f"write {closing}", at=start)
            if not scan.option_here():
                raise scan.fail("a group holds options or operands, never both", "write two lines")
            option = self.option(most=MOST_VALUES, literals=True)
            if scan.dots():
                option = repeated(option)
            options.append(option)
            scan.space()
            if not scan.take("|"):
                return Choice(tuple(options))

    def option(self, *, most: int, literals: bool) -> Option:
        """One option with its values."""
        scan = self.parser
        start = scan.at
        if scan.take("-{"):
            return Option("-", "bundle", parts=self.parts(start), column=start)
        name = scan.run("<=")
        glued = self.short_with_type(name, start)
        if glued is not None:
            return glued
        if scan.peek() == "<":
            scan.at += 1
            ref = scan.type()
            scan.close_angle()
            return Option(name, "attached", (ref,), column=start)
        if name in ("-", "+") or name == "--":
            raise scan.fail(f"a name is expected after {name}", at=start)
        if scan.take("="):
            return Option(name, "equals", (self.value_type(),), column=start)
        if scan.take("[=]"):
            return Option(name, "either", (self.value_type(),), column=start)
        if scan.take("[="):
            return Option(name, "optional", (self.bracketed(),), column=start)
        if scan.take("["):
            return Option(name, "attachable", (self.bracketed(),), column=start)
        return Option(name, "plain", self.values(most, literals=literals), column=start)

    def short_with_type(self, name: str, start: int) -> Option | None:
        """``-nINT``: one letter or digit and a known type."""
        scan = self.parser
        letter, rest = name[1:2], name[2:]
        if name[:1] != "-" or not (letter.islower() or letter.isdigit()) or not rest:
            return None
        head = rest.split(":")[0].split("@")[0]
        if head not in scan.known or not head[0].isupper():
            return None
        scan.at = start + 2
        return Option(name[:2], "attached", (scan.type(),), column=start)

    def value_type(self) -> TypeRef | Word:
        """What follows ``=``: a type, with or without angle brackets, or a literal."""
        scan = self.parser
        if scan.take("<"):
            ref = scan.type()
            scan.close_angle()
            return ref
        if scan.type_here():
            return scan.type()
        start = scan.at
        text = scan.quoted() if scan.peek() == "'" else scan.run()
        if not text:
            raise scan.fail("a type is expected after =", "for example =TEXT")
        return Word(text, start)

    def bracketed(self) -> TypeRef:
        """The type of an optional value, up to its bracket."""
        scan = self.parser
        ref = scan.type()
        if not scan.take("]"):
            raise scan.fail("] is expected here", "an optional value is written -x[TYPE]")
        return ref

    def values(self, most: int, *, literals: bool) -> tuple[TypeRef | Word, ...]:
        """The words that follow an option as its values."""
        scan = self.parser
        values: list[TypeRef | Word] = []
        while len(values) < most + 1:
            before = scan.at
            scan.space()
            start = scan.at
            if scan.at > before and scan.type_here() and not scan.prefixed():
                values.append(scan.type())
            elif literals and scan.at > before and self.literal_here():
                text = scan.quoted() if scan.peek() == "'" else scan.run("<=")
                values.append(Word(text, start))
            else:
                scan.at = before
                break
            if len(values) > most:
                if most == 1:
                    scan.at = before
                    values.pop()
                    break
                raise SynopsisError(f"an option has at most {most} values", start)
        return tuple(values)

    def literal_here(self) -> bool:
        """Whether a literal value begins here."""
        scan = self.parser
        character = scan.peek()
        if scan.peek(3) == "...":
            return False
        return character == "'" or bool(character and character not in "[]()|,<-+")

    def parts(self, start: int) -> tuple[Part, ...]:
        """The inside of ``-{rn,A INT,i[TEXT]}``."""
        scan = self.parser
        parts: list[Part] = []
        while True:
            scan.space()
            letters = scan.run("}<=:")
            if not letters:
                raise scan.fail("letters are expected here", "a bundle is written -{abc,n INT}")
            valued = scan.peek() == "[" or (scan.peek() == " " and self.type_after_space())
            if valued and len(letters) != 1:
                raise scan.fail("a letter with a value stands alone", "separate it by a comma")
            if not valued:
                parts.extend(Part(letter) for letter in letters)
            elif scan.take("["):
                parts.append(Part(letters, self.bracketed(), attachable=True))
            else:
                scan.space()
                parts.append(Part(letters, scan.type()))
            scan.space()
            if scan.take("}"):
                break
            if not scan.take(","):
                raise scan.fail("} or a comma is expected here", at=scan.at)
        names = [part.letter for part in parts]
        twice = next((n for n in names if names.count(n) > 1), None)
        if twice is not None:
            raise scan.fail(f"the letter {twice} stands twice in the bundle", at=start)
        return tuple(parts)

    def type_after_space(self) -> bool:
        """Whether a type follows after spaces."""
        scan = self.parser
        before = scan.at
        scan.space()
        found = scan.type_here()
        scan.at = before
        return found


def repeated(option: Option) -> Option:
    """The same option, with ``...``."""
    return Option(option.name, option.shape, option.values, option.parts, True, option.column)
