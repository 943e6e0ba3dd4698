"""RE(/x/): regular expressions as a lazily built automaton, one step a character.

The subset is regular: no back-references, look-around, anchors, flags, lazy or possessive
repeats. Whole words only.
"""

from __future__ import annotations

from collections.abc import Callable

from policies.matching.positions import Fragment, Positions
from policies.values.value import Check, Place

__all__ = ["Automaton", "PatternError", "regular_check"]

MOST_POSITIONS = 4000
MOST_STATES = 2000
MOST_REPEATS = 1000

Test = Callable[[str], bool]


class PatternError(ValueError):
    """The text is not an expression of the subset; ``column`` counts from its first character."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


def is_digit(character: str) -> bool:
    return "0" <= character <= "9"


def is_wordlike(character: str) -> bool:
    return character == "_" or (character.isascii() and character.isalnum())


def is_space(character: str) -> bool:
    return character in " \t\n\r\f\v"


def negated(test: Test) -> Test:
    return lambda character: not test(character)


CLASSES: dict[str, Test] = {
    "d": is_digit,
    "w": is_wordlike,
    "s": is_space,
    "D": negated(is_digit),
    "W": negated(is_wordlike),
    "S": negated(is_space),
}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}


class Reader:
    """Reads an expression into positions."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.positions: Positions[Test] = Positions()

    def fail(self, message: str) -> PatternError:
        return PatternError(message, self.at)

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def whole(self) -> Fragment:
        fragment = self.alternatives()
        if self.at < len(self.text):
            raise self.fail("unbalanced )")
        return fragment

    def alternatives(self) -> Fragment:
        fragment = self.sequence()
        while self.peek() == "|":
            self.at += 1
            fragment = self.positions.either(fragment, self.sequence())
        return fragment

    def sequence(self) -> Fragment:
        fragment = self.positions.nothing()
        while self.peek() not in ("", "|", ")"):
            fragment = self.positions.then(fragment, self.repeated())
        return fragment

    def repeated(self) -> Fragment:
        start = self.at
        fragment = self.atom()
        end = self.at
        bounds = self.repeat_bounds()
        if bounds is None:
            return fragment
        after = self.at
        if self.peek() and self.peek() in "*+?{":
            raise self.fail("a repeat of a repeat (lazy and possessive repeats are not regular)")
        fragment = self.unrolled(fragment, start, end, bounds)
        self.at = after
        return fragment

    def repeat_bounds(self) -> tuple[int, int | None] | None:
        """Least and most; None after the comma of ``{2,}``. No repeat at all: None."""
        character = self.peek()
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if character and character in simple:
            self.at += 1
            return simple[character]
        if character != "{":
            return None
        close = self.text.find("}", self.at)
        low, comma, high = self.text[self.at + 1 : max(close, self.at + 1)].partition(",")
        if close < 0 or not is_count(low) or (high and not is_count(high)):
            raise self.fail("a brace is written \\{, or {2}, {2,5}, {2,}")
        least = int(low)
        most = int(high) if high else (None if comma else least)
        if least > MOST_REPEATS or (most is not None and not least <= most <= MOST_REPEATS):
            raise self.fail(f"a repeat is at most {MOST_REPEATS}, and its bounds are in order")
        self.at = close + 1
        return least, most

    def unrolled(
        self, fragment: Fragment, start: int, end: int, bounds: tuple[int, int | None]
    ) -> Fragment:
        """The atom between ``start`` and ``end``, as often as the bounds say."""
        least, most = bounds
        build = self.positions
        if most is None and least <= 1:
            fragment = build.repeat(fragment)
            return fragment if least else build.optional(fragment)
        if most == 0:
            return build.nothing()
        if fragment.first == fragment.last == frozenset((len(build.leaves) - 1,)):
            return self.run_of(fragment, least, most)
        copies = [fragment]
        for _ in range(max(least, most or 0) - 1):
            self.at = start
            copies.append(self.atom())
            if self.at != end:
                raise AssertionError(self.text)
        if most is None:
            copies[-1] = build.repeat(copies[-1])
        whole = build.nothing()
        for index in range(len(copies) - 1, -1, -1):
            whole = build.then(copies[index], whole)
            if index >= least:
                whole = build.optional(whole)
        return whole

    def run_of(self, fragment: Fragment, least: int, most: int | None) -> Fragment:
        """A repeat of one character, without the unions that a longer atom needs."""
        build = self.positions
        start = len(build.leaves) - 1
        test = build.leaves[start]
        count = max(least, most or 0)
        if len(build.leaves) + count > MOST_POSITIONS:
            raise self.fail(f"the expression is longer than {MOST_POSITIONS} characters unrolled")
        for position in range(start, start + count - 1):
            build.leaf(test)
            build.follow[position].add(position + 1)
        end = start + count - 1
        if most is None:
            build.follow[end].add(end)
            last = frozenset((end,))
        else:
            last = frozenset(range(start + max(least, 1) - 1, end + 1))
        return Fragment(empty=least == 0, first=fragment.first, last=last)

    def atom(self) -> Fragment:
        character = self.peek()
        if len(self.positions.leaves) >= MOST_POSITIONS:
            raise self.fail(f"the expression is longer than {MOST_POSITIONS} characters unrolled")
        if character == "(":
            return self.group()
        if character in ("*", "+", "?", "{"):
            raise self.fail("nothing to repeat here")
        if character in ("^", "$"):
            raise self.fail("no anchors: the whole word is matched")
        self.at += 1
        if character == "[":
            return self.positions.leaf(self.bracket())
        if character == ".":
            return self.positions.leaf(lambda c: c != "\n")
        if character == "\\":
            return self.positions.leaf(self.escape())
        return self.positions.leaf(character.__eq__)

    def group(self) -> Fragment:
        self.at += 1
        if self.text.startswith("?:", self.at):
            self.at += 2
        elif self.peek() == "?":
            raise self.fail("no look-around, names or flags: write (x) or (?:x)")
        fragment = self.alternatives()
        if self.peek() != ")":
            raise self.fail("missing )")
        self.at += 1
        return fragment

    def escape(self) -> Test:
        character = self.peek()
        self.at += 1
        if character in CLASSES:
            return CLASSES[character]
        return self.escaped(character).__eq__

    def escaped(self, character: str) -> str:
        if character in ESCAPES:
            return ESCAPES[character]
        if not character or character.isalnum():
            raise self.fail(f"unknown escape \\{character}")
        return character

    def bracket(self) -> Test:
        negate = self.peek() == "^"
        self.at += negate
        singles: set[str] = set()
        ranges: list[tuple[str, str]] = []
        tests: list[Test] = []
        first = True
        while first or self.peek() != "]":
            first = False
            low = self.member(tests)
            if low is None:
                continue
            after = self.text[self.at : self.at + 2]
            if len(after) == 2 and after[0] == "-" and after[1] != "]":
                self.at += 1
                high = self.member([])
                if high is None or high < low:
                    raise self.fail("a range goes from a character to a later one")
                ranges.append((low, high))
            else:
                singles.add(low)
        self.at += 1
        return bracket_test(frozenset(singles), tuple(ranges), tuple(tests), negate=negate)

    def member(self, tests: list[Test]) -> str | None:
        character = self.peek()
        if not character:
            raise self.fail("missing ]")
        self.at += 1
        if character != "\\":
            return character
        character = self.peek()
        self.at += 1
        if character in CLASSES:
            tests.append(CLASSES[character])
            return None
        return self.escaped(character)


def is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5


def bracket_test(
    singles: frozenset[str],
    ranges: tuple[tuple[str, str], ...],
    tests: tuple[Test, ...],
    *,
    negate: bool,
) -> Test:
    """The test of a bracket expression."""

    def test(character: str) -> bool:
        inside = (
            character in singles
            or any(low <= character <= high for low, high in ranges)
            or any(member(character) for member in tests)
        )
        return inside is not negate

    return test


class State:
    """A set of positions, with the steps from it that were taken so far."""

    __slots__ = ("accepts", "positions", "steps")

    def __init__(self, positions: frozenset[int], *, accepts: bool) -> None:
        self.positions = positions
        self.accepts = accepts
        self.steps: dict[str, State | None] = {}


class Automaton:
    """Runs an expression over words in time linear in their length."""

    def __init__(self, text: str) -> None:
        reader = Reader(text)
        fragment = reader.whole()
        self.tests = reader.positions.leaves
        self.follow = [frozenset(after) for after in reader.positions.follow]
        self.last = fragment.last
        self.first = fragment.first
        self.empty = fragment.empty
        self.reset()

    def reset(self) -> None:
        """Forget the states built so far."""
        self.states: dict[frozenset[int], State] = {}
        self.start = State(self.first, accepts=self.empty)

    def matches(self, word: str) -> bool:
        """Whether the whole word is described."""
        state = self.start
        for character in word:
            if character in state.steps:
                after = state.steps[character]
            else:
                after = self.step(state, character)
            if after is None:
                return False
            state = after
        return state.accepts

    def step(self, state: State, character: str) -> State | None:
        """Build the step; ``positions`` of a state are those that may come next."""
        taken = [p for p in state.positions if self.tests[p](character)]
        after: State | None = None
        if taken:
            key = frozenset(taken)
            after = self.states.get(key)
            if after is None:
                if len(self.states) >= MOST_STATES:
                    self.reset()
                after = State(
                    frozenset().union(*[self.follow[p] for p in taken]),
                    accepts=not self.last.isdisjoint(taken),
                )
                self.states[key] = after
        if len(state.steps) < MOST_STATES:
            state.steps[character] = after
        return after


def regular_check(text: str) -> Check:
    """The check of ``RE(/text/)``; raises PatternError."""
    automaton = Automaton(text)
    matches = automaton.matches

    def check(word: str, place: Place) -> str | None:  # noqa: ARG001
        if matches(word):
            return None
        return "value-type" if word else "empty-word"

    return check
