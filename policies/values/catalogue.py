"""Catalogue: turns the types that lines write into ValueTypes, built-in and declared ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.synopsis.error import SynopsisError
from policies.synopsis.tree import TypeRef, Word
from policies.values.assignments import assignment_check
from policies.values.builders import BUILDERS
from policies.values.paths import Protection
from policies.values.value import PathKind, Place, ValueType

__all__ = ["Catalogue", "literal_value"]


class Catalogue:
    """The types that the lines of a policy may use.

    Attributes:
        protection: the protected names, for ``:rw``.
        roots: named roots and their absolute paths, for ``PATH@root``.
    """

    def __init__(
        self, *, protection: Protection | None = None, roots: Mapping[str, str] | None = None
    ) -> None:
        self.protection = protection or Protection()
        self.roots = dict(roots or {})
        self.declared: dict[str, tuple[TypeRef, ...]] = {}
        self.used: set[str] = set()
        self.built: dict[TypeRef, ValueType] = {}

    def __contains__(self, name: object) -> bool:
        return name in BUILDERS or name in self.declared

    def __iter__(self) -> Iterator[str]:
        yield from BUILDERS
        yield from self.declared

    def declare(self, name: str, refs: tuple[TypeRef, ...], *, trusted: bool = False) -> None:
        """Add an author's type; every reference must be known already."""
        self.declared[name] = refs
        for ref in refs:
            self.used.add(ref.name)
            if not trusted:
                self.resolve(ref)

    def resolve(self, ref: TypeRef) -> ValueType:
        """The type that a reference stands for; raises SynopsisError."""
        found = self.built.get(ref)
        if found is None:
            found = self.build(ref)
            self.built[ref] = found
        self.used.add(ref.name)
        return found

    def build(self, ref: TypeRef) -> ValueType:
        """Make the type of a reference."""
        if ref.name in self.declared:
            if ref.args is not None or ref.root is not None:
                raise SynopsisError(f"{ref.name} takes no arguments", ref.column)
            parts = [self.resolve(part) for part in self.declared[ref.name]]
            return with_modifiers(joined(parts), ref)
        if ref.root is not None and (
            ref.name not in ("PATH", "FILE", "DIR") or ref.root not in self.roots
        ):
            raise SynopsisError(f"no root is named {ref.root}", ref.column, "declare it in [roots]")
        if ref.name == "NAME" and ref.value is not None:
            inner = self.resolve(ref.value)
            return ValueType(written(ref), assignment_check(inner))
        return BUILDERS[ref.name](ref, self)


def joined(parts: list[ValueType]) -> ValueType:
    """All of the types at once."""
    if len(parts) == 1:
        return parts[0]
    checks = [part.check for part in parts]

    def check(word: str, place: Place) -> str | None:
        for one in checks:
            fault = one(word, place)
            if fault is not None:
                return fault
        return None

    path: PathKind = ""
    for part in parts:
        if part.path and path in ("", "path"):
            path = part.path
    return ValueType(
        " & ".join(part.text for part in parts),
        check,
        dash=all(part.dash for part in parts),
        path=path,
        writable=any(part.writable for part in parts),
        root=next((part.root for part in parts if part.root != "workspace"), "workspace"),
    )


def with_modifiers(value: ValueType, ref: TypeRef) -> ValueType:
    """A declared type as a line uses it."""
    for modifier in ref.modifiers:
        if modifier != "dash":
            raise SynopsisError(
                f":{modifier} belongs into the declaration of {ref.name}", ref.column
            )
    return ValueType(
        written(ref),
        value.check,
        dash=value.dash or "dash" in ref.modifiers,
        path=value.path,
        writable=value.writable,
        root=value.root,
    )


def literal_value(word: Word) -> ValueType:
    """A literal in the place of a value."""
    text = word.text

    def check(given: str, place: Place) -> str | None:  # noqa: ARG001
        return None if given == text else "value-range"

    return ValueType(text, check, dash=text.startswith("-"))


def written(ref: TypeRef) -> str:
    """The reference as text."""
    from policies.synopsis.printer import print_type

    return print_type(ref)
