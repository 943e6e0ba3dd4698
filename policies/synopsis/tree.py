"""The parts of a synopsis line, as its text writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = [
    "Choice",
    "End",
    "Glued",
    "Group",
    "Item",
    "Line",
    "Operand",
    "Option",
    "OptionGroup",
    "OptionShape",
    "Part",
    "Repeated",
    "Style",
    "TypeRef",
    "Typed",
    "Word",
]

Style = Literal["gnu", "posix", "words"]


@dataclass(frozen=True, slots=True)
class TypeRef:
    """A type as written: ``INT(1..9)``, ``PATH:rw``, ``PATH@tmp``, ``NAME=TEXT``."""

    name: str
    args: str | None = None
    modifiers: tuple[str, ...] = ()
    root: str | None = None
    value: TypeRef | None = None  # of NAME=T
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Word:
    """A word that stands for itself."""

    text: str
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class End:
    """The end marker ``--``."""

    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Typed:
    """Any word of a type."""

    type: TypeRef
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Glued:
    """A fixed prefix with a typed rest: ``CC=ENUM(gcc,clang)``, ``+<INT>``."""

    prefix: str
    type: TypeRef
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Group:
    """Alternatives, each a sequence; ``[ ]`` when optional, else ``( )``."""

    alternatives: tuple[tuple[Operand, ...], ...]
    optional: bool
    repeat: bool = False
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Repeated:
    """A single term with ``...``."""

    operand: Word | Typed | Glued
    column: int = field(default=0, compare=False)


OptionShape = Literal["plain", "equals", "either", "optional", "attached", "attachable", "bundle"]
"""How an option takes its value.

plain: in the next words (or none); equals: ``--n=V``; either: ``--n V`` or ``--n=V``;
optional: ``--n`` or ``--n=V``; attached: ``-nV``; attachable: ``-n`` or ``-nV``.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """A letter of a bundle; ``attachable`` when its value is optional."""

    letter: str
    type: TypeRef | None = None
    attachable: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """One option with the values it takes."""

    name: str
    shape: OptionShape = "plain"
    values: tuple[TypeRef | Word, ...] = ()
    parts: tuple[Part, ...] = ()
    repeat: bool = False
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Choice:
    """Options that exclude each other."""

    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class OptionGroup:
    """``[a, b|c]``: each choice may occur; ``(a|b)`` or a bare option: exactly one must."""

    choices: tuple[Choice, ...]
    required: bool
    bare: bool = False
    repeat: bool = False
    column: int = field(default=0, compare=False)


Operand = Word | End | Typed | Glued | Group | Repeated
Item = OptionGroup | Operand


@dataclass(frozen=True, slots=True)
class Line:
    """A parsed synopsis line.

    Attributes:
        program: the first word; ``./`` for a line about workspace programs.
        items: what follows.
        style: how the program reads its options.
        text: the line as written.
        file: the type of the workspace program (``./<FILE>`` lines only).
    """

    program: str
    items: tuple[Item, ...]
    style: Style = "gnu"
    text: str = field(default="", compare=False)
    file: TypeRef | None = None
