"""Glushkov's construction: the positions of an expression, and which may follow which.

Used twice: for the operands of a line (leaves are terms) and for ``RE`` types (leaves are
characters).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Fragment", "Positions"]

Leaf = TypeVar("Leaf")


@dataclass(slots=True)
class Fragment:
    """A part of an expression: where it can begin and end, and whether it can be empty."""

    empty: bool
    first: frozenset[int]
    last: frozenset[int]


class Positions(Generic[Leaf]):
    """Builds the follow relation bottom up; every leaf added is a position of its own."""

    def __init__(self) -> None:
        self.leaves: list[Leaf] = []
        self.follow: list[set[int]] = []

    def leaf(self, leaf: Leaf) -> Fragment:
        """One position."""
        self.leaves.append(leaf)
        self.follow.append(set())
        here = frozenset((len(self.leaves) - 1,))
        return Fragment(empty=False, first=here, last=here)

    def nothing(self) -> Fragment:
        """The empty expression."""
        return Fragment(empty=True, first=frozenset(), last=frozenset())

    def then(self, left: Fragment, right: Fragment) -> Fragment:
        """One after the other."""
        for position in left.last:
            self.follow[position] |= right.first
        return Fragment(
            left.empty and right.empty,
            left.first | right.first if left.empty else left.first,
            left.last | right.last if right.empty else right.last,
        )

    def either(self, left: Fragment, right: Fragment) -> Fragment:
        """One or the other."""
        empty = left.empty or right.empty
        return Fragment(empty, left.first | right.first, left.last | right.last)

    def optional(self, part: Fragment) -> Fragment:
        """The part or nothing."""
        return Fragment(empty=True, first=part.first, last=part.last)

    def repeat(self, part: Fragment) -> Fragment:
        """The part, once or more often."""
        for position in part.last:
            self.follow[position] |= part.first
        return part
