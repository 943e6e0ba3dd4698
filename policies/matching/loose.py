"""Deny lines match loosely: what they write is present, whatever else is there.

They cover every spelling of what they write (also abbreviations and clusters), and may deny too
much. They do not cover other ways to the same effect.
"""

from __future__ import annotations

from policies.matching.walk import Span
from policies.synopsis.error import SynopsisError
from policies.synopsis.tree import (
    Glued,
    Group,
    Item,
    Line,
    Operand,
    Option,
    OptionGroup,
    Repeated,
    Typed,
    TypeRef,
    Word,
)
from policies.values.catalogue import Catalogue, literal_value
from policies.values.value import Place, ValueType

__all__ = ["LooseLine"]


class Spelling:
    """An option in all its spellings, with the value it must have, if any."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: ValueType | None) -> None:
        self.name = name
        self.value = value

    def found(self, words: list[str], place: Place) -> bool:
        """Whether some word spells the option, with a value that fits."""
        return any(
            self.fits(value, place)
            for index, word in enumerate(words)
            for value in self.values(word, words[index + 1] if index + 1 < len(words) else None)
        )

    def values(self, word: str, following: str | None) -> list[str | None]:
        """The values the word could give the option; empty when it does not spell it."""
        name = self.name
        if word == name:
            return [following, None] if self.value is None else [following]
        if not word.startswith(name[0]) or len(word) < 2 or word == "--":
            return []
        if len(name) == 2:
            return self.short(word, following)
        head, equals, value = word.partition("=")
        if name.startswith("--"):
            spelled = len(head) > 2 and name.startswith(head)
        else:
            spelled = head in (name, "-" + name)
        if spelled:
            return [value if equals else following]
        return [word[len(name) :]] if word.startswith(name) else []

    def short(self, word: str, following: str | None) -> list[str | None]:
        """A letter anywhere in a cluster."""
        if word[0] == "-" and word[1] == "-":
            return []
        letter = self.name[1]
        found: list[str | None] = []
        for index in range(1, len(word)):
            if word[index] == letter:
                rest = word[index + 1 :]
                found.append(rest.removeprefix("=") if rest else following)
        return found

    def fits(self, value: str | None, place: Place) -> bool:
        if self.value is None:
            return True
        return value is not None and self.value.check(value, place) is None


class LooseLine:
    """A deny line: literals in order, options and typed operands anywhere.

    Attributes:
        literals: sets of words, one of each must occur, in this order.
        options: for each required choice the spellings of which one must occur.
        types: for each typed operand, some word must fit.
    """

    def __init__(self, line: Line, catalogue: Catalogue) -> None:
        self.line = line
        self.program = line.program
        self.text = " ".join(line.text.split())
        self.literals: list[frozenset[str]] = []
        self.options: list[tuple[Spelling, ...]] = []
        self.types: list[tuple[ValueType, ...]] = []
        self.catalogue = catalogue
        for item in line.items:
            self.add(item)

    def add(self, item: Item) -> None:
        """Add what an item demands; optional parts demand nothing."""
        if isinstance(item, OptionGroup):
            if item.required:
                self.options.append(self.spellings(item.choices[0].options))
        elif isinstance(item, Word):
            self.literals.append(frozenset((item.text,)))
        elif isinstance(item, Repeated):
            self.add(item.operand)
        elif isinstance(item, Typed | Glued):
            self.add_types([item])
        elif isinstance(item, Group) and not item.optional:
            self.add_group(item)

    def add_group(self, group: Group) -> None:
        """Add the alternatives of a ``( )``."""
        alternatives = group.alternatives
        if len(alternatives) == 1:
            for operand in alternatives[0]:
                self.add(operand)
        elif all(len(a) == 1 and isinstance(a[0], Word) for a in alternatives):
            words = [a[0].text for a in alternatives if isinstance(a[0], Word)]
            self.literals.append(frozenset(words))
        elif all(len(a) == 1 for a in alternatives):
            self.add_types([a[0] for a in alternatives])
        else:
            raise SynopsisError(
                "alternatives of several words in a deny line", group.column, "write two lines"
            )

    def add_types(self, operands: list[Operand]) -> None:
        """Some word must fit one of these."""
        values: list[ValueType] = []
        for operand in operands:
            inner = operand.operand if isinstance(operand, Repeated) else operand
            if isinstance(inner, Word):
                values.append(literal_value(inner))
            elif isinstance(inner, Typed):
                values.append(self.catalogue.resolve(inner.type))
            elif isinstance(inner, Glued):
                from policies.matching.operands import glued

                values.append(glued(inner.prefix, self.catalogue.resolve(inner.type)))
        if values and not any(value.anything or value.command for value in values):
            self.types.append(tuple(values))

    def spellings(self, options: tuple[Option, ...]) -> tuple[Spelling, ...]:
        """The options of a choice in all their spellings."""
        found: list[Spelling] = []
        for option in options:
            if option.shape == "bundle":
                for part in option.parts:
                    value = None if part.type is None else self.catalogue.resolve(part.type)
                    found.append(Spelling(f"-{part.letter}", value))
                continue
            values = option.values
            optional = option.shape in ("optional", "attachable")
            value = None if optional or not values else self.value(values[0])
            found.append(Spelling(option.name, value))
        return tuple(found)

    def value(self, value: TypeRef | Word) -> ValueType:
        """The type of a value."""
        return literal_value(value) if isinstance(value, Word) else self.catalogue.resolve(value)

    def holds(self, span: Span) -> bool:
        """Whether everything that the line writes is present."""
        words = list(span.words[span.start + 1 : span.end])
        at = 0
        for choice in self.literals:
            while at < len(words) and words[at] not in choice:
                at += 1
            if at == len(words):
                return False
            at += 1
        place = span.place
        for spellings in self.options:
            if not any(spelling.found(words, place) for spelling in spellings):
                return False
        return all(
            any(value.check(word, place) is None for value in values for word in words)
            for values in self.types
        )
