"""Operands of a line as an automaton of position sets: width, never backtracking."""

from __future__ import annotations

from policies.matching.positions import Fragment, Positions
from policies.synopsis.error import SynopsisError
from policies.synopsis.tree import End, Glued, Group, Operand, Repeated, Typed, Word
from policies.values.catalogue import Catalogue
from policies.values.value import Check, PathKind, Place, ValueType

__all__ = ["END", "Operands", "Position", "State"]

END = "--"
MOST_POSITIONS = 256
MOST_STATES = 4096


Reading = tuple[PathKind, bool, str, int]
"""What a path must be, whether it may be changed, its root, and where in the word it begins."""


class Position:
    """One place of a line: a literal, ``--``, or a type."""

    __slots__ = ("literal", "text", "value")

    def __init__(self, literal: str | None, value: ValueType | None, text: str) -> None:
        self.literal = literal
        self.value = value
        self.text = text


class Single:
    """The one type that may come next (beside literals), the usual case."""

    __slots__ = ("after", "check", "dash", "taken")

    def __init__(self, index: int, check: Check, dash: bool) -> None:  # noqa: FBT001
        self.taken: tuple[int, ...] = (index,)
        self.check = check
        self.dash = dash
        self.after: State | None = None  # the state after it, once it was reached


class State:
    """What may come next: literals by look-up, ``--``, commands, and types in file order.

    Attributes:
        literals: the positions that a literal word takes.
        marker: the positions that ``--`` takes as the end marker.
        types: position, check and whether a leading dash is admitted, for each type.
        commands: positions of command types.
        accepts: the operands may end here.
        anything: ANY may come here.
        steps: the state after a set of positions was taken.
        texts: what may come, as written, once it was asked for.
    """

    __slots__ = (
        "accepts", "anything", "commands", "follow", "literals", "marker", "single", "steps",
        "texts", "types",
    )  # fmt: skip

    def __init__(self, follow: frozenset[int], places: list[Position], *, accepts: bool) -> None:
        self.follow = follow
        self.accepts = accepts
        self.literals: dict[str, tuple[int, ...]] = {}
        marker: list[int] = []
        types: list[tuple[int, Check, bool]] = []
        commands: list[int] = []
        self.anything = False
        for index in sorted(follow):
            place = places[index]
            if place.value is None:
                literal = place.literal
                if literal is None:
                    marker.append(index)
                else:
                    self.literals[literal] = (*self.literals.get(literal, ()), index)
            elif place.value.command:
                commands.append(index)
            else:
                types.append((index, place.value.check, place.value.dash))
                self.anything = self.anything or place.value.anything
        self.marker = tuple(marker)
        self.types = tuple(types)
        self.commands = tuple(commands)
        self.steps: dict[tuple[int, ...], State] = {}
        self.texts: tuple[str, ...] | None = None
        alone = len(types) == 1
        self.single = Single(*self.types[0]) if alone else None


class Operands:
    """The automaton of the operands of a line."""

    def __init__(self, operands: list[Operand], catalogue: Catalogue) -> None:
        build: Positions[Position] = Positions()
        self.catalogue = catalogue
        fragment = build.nothing()
        for operand in operands:
            fragment = build.then(fragment, self.fragment(operand, build))
        if len(build.leaves) > MOST_POSITIONS:
            raise SynopsisError(
                f"the line has more than {MOST_POSITIONS} operands", 0, "write two lines"
            )
        self.places = build.leaves
        self.follow = [frozenset(after) for after in build.follow]
        self.last = fragment.last
        self.paths = [
            place.value if place.value is not None and place.value.path else None
            for place in self.places
        ]
        self.readings: dict[tuple[int, ...], Reading | None] = {}
        self.count = 0
        self.start = State(fragment.first, self.places, accepts=fragment.empty)

    def fragment(self, operand: Operand, build: Positions[Position]) -> Fragment:
        """The positions of one operand."""
        if isinstance(operand, Word):
            return build.leaf(Position(operand.text, None, operand.text))
        if isinstance(operand, End):
            return build.leaf(Position(None, None, END))
        if isinstance(operand, Typed):
            value = self.catalogue.resolve(operand.type)
            return build.leaf(Position(None, value, value.text))
        if isinstance(operand, Glued):
            value = glued(operand.prefix, self.catalogue.resolve(operand.type))
            return build.leaf(Position(None, value, value.text))
        if isinstance(operand, Repeated):
            return build.repeat(self.fragment(operand.operand, build))
        return self.group(operand, build)

    def group(self, group: Group, build: Positions[Position]) -> Fragment:
        """The positions of a group."""
        whole: Fragment | None = None
        for alternative in group.alternatives:
            part = build.nothing()
            for operand in alternative:
                part = build.then(part, self.fragment(operand, build))
            whole = part if whole is None else build.either(whole, part)
        fragment = whole if whole is not None else build.nothing()
        if group.repeat:
            fragment = build.repeat(fragment)
        return build.optional(fragment) if group.optional else fragment

    def step(self, state: State, taken: tuple[int, ...]) -> State:
        """The state after these positions of ``state`` took the word."""
        after = state.steps.get(taken)
        if after is None:
            follow = frozenset().union(*[self.follow[index] for index in taken])
            after = State(follow, self.places, accepts=not self.last.isdisjoint(taken))
            if self.count < MOST_STATES:
                self.count += 1
                state.steps[taken] = after
        return after

    def alive(self, trail: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """The positions of each word that lead to the end of the line."""
        kept: list[tuple[int, ...]] = []
        after: frozenset[int] = self.last
        for taken in reversed(trail):
            alive = tuple(
                index
                for index in taken
                if (index in after if not kept else not self.follow[index].isdisjoint(after))
            )
            kept.append(alive)
            after = frozenset(alive)
        kept.reverse()
        return kept

    def reading(self, taken: tuple[int, ...]) -> Reading | None:
        """How a word that these positions took is looked at as a path; None: it is none."""
        if taken in self.readings:
            return self.readings[taken]
        values = [self.places[index].value for index in taken]
        paths = [value for value in values if value is not None and value.path]
        reading: Reading | None = None
        if paths:
            first = paths[0]
            alike = len(paths) == len(values) and all(v.path == first.path for v in paths)
            writable = any(value.writable for value in paths)
            reading = (first.path if alike else "path", writable, first.root, first.prefix)
        if len(self.readings) < MOST_STATES:
            self.readings[taken] = reading
        return reading

    def expected(self, state: State) -> tuple[str, ...]:
        """What may come next, as written, in file order."""
        if state.texts is None:
            texts = (self.places[index].text for index in sorted(state.follow))
            state.texts = tuple(dict.fromkeys(texts))
        return state.texts


def glued(prefix: str, value: ValueType) -> ValueType:
    """A fixed prefix and a typed rest, as one word."""
    width = len(prefix)
    check = value.check

    def fits(word: str, place: Place) -> str | None:
        if not word.startswith(prefix):
            return "value-type" if word else "empty-word"
        return check(word[width:], place)

    text = f"{prefix}{value.text}" if prefix.endswith("=") else f"{prefix}<{value.text}>"
    return ValueType(
        text,
        fits,
        dash=prefix.startswith("-") or (value.dash and not prefix),
        path=value.path,
        writable=value.writable,
        root=value.root,
        prefix=width,
    )
