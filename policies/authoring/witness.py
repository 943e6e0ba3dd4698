"""Witnesses: commands that a line accepts, made from the line itself."""

from __future__ import annotations

import re
from functools import cache

from policies.matching.line import CompiledLine
from policies.matching.operands import State
from policies.matching.options import Form, OptionTable
from policies.matching.walk import Span, Walk
from policies.values.pattern import Automaton
from policies.values.value import Place, ValueType

__all__ = ["witnesses", "words_of"]

HERE = Place("/workspace", ".")
TRIES = (
    "1", "5", "a", "main", "src/a.py", "A=1", "a=b", "https://example.com/", "s/a/b/", "5s", "10K",
    "644", "origin", "example.com", "some text", "a:b", "-", "f", "x", "1.0", "2,3", "10,20p",
)  # fmt: skip
ENUM = re.compile(r"(?:[^(]*)ENUM\(([^)]*)\)")
RANGE = re.compile(r"(?:[^(]*)(?:INT|FLOAT)\((-?\d+)\.\.(-?\d+)\)")
REGULAR = re.compile(r"(?:[^(]*)RE\(/(.*)/\)(?::\w+)*")
ALPHABET = "a1b/.x_-0:=,+ zA"


def words_of(value: ValueType) -> list[str]:
    """Words that a type accepts: its borders, and some others."""
    found = [word for word in tries(value.text) if value.check(word, HERE) is None]
    return list(dict.fromkeys(found))[:4]


@cache
def tries(text: str) -> tuple[str, ...]:
    """Words worth trying for a type."""
    first: list[str] = []
    enum = ENUM.fullmatch(text)
    bounds = RANGE.fullmatch(text)
    regular = REGULAR.fullmatch(text)
    if enum:
        first = [word.strip().strip("'") for word in enum[1].split(",")]
    elif bounds:
        first = [bounds[1], bounds[2]]
    elif regular:
        shortest = shortest_word(regular[1])
        first = [shortest] if shortest is not None else []
    return (*first, *TRIES)


def shortest_word(pattern: str) -> str | None:
    """A shortest word of an expression, searched breadth first over a few characters."""
    automaton = Automaton(pattern)
    alphabet = ALPHABET + "".join(sorted(set(re.findall(r"[A-Za-z0-9]", pattern))))
    layer = {automaton.start: ""}
    seen = {automaton.start.positions}
    for _ in range(24):
        following = {}
        for state, word in layer.items():
            if state.accepts and word:
                return word
            for character in alphabet:
                after = automaton.step(state, character)
                if after is not None and after.positions not in seen:
                    seen.add(after.positions)
                    following[after] = word + character
                elif after is not None and after.accepts:
                    return word + character
        layer = following
    return None


def witnesses(line: CompiledLine) -> list[tuple[str, ...]]:
    """Commands that the line accepts: the barest one, and each option alone."""
    pinned: list[list[str]] = []
    head = [line.program if line.program != "./" else "./a"]
    for segment in line.pinned:
        words = [segment.option] if segment.option else []
        words += sorted(segment.literals)[:1]
        pinned.append(words)
    base = [*head, *(word for words in pinned for word in words)]
    operands = shortest_path(line)
    if operands is None:
        return []
    must = required_words(line)
    found = [(*base, *must, *operands)]
    for option, form in option_spellings(line.options):
        found.append((*base, *must, *option, *operands))
        if form.repeat and form.values:
            found.append((*base, *must, *option, *option, *operands))
    for slot, _ in line.options.required:
        others = required_words(line, but=slot)
        found.extend(
            (*base, *others, *option, *operands)
            for option, form in option_spellings(line.options)
            if form.slot == slot
        )
    if line.pinned:
        found.extend(
            (*head, *option, *base[1:], *must, *operands)
            for option in single_options(line.pinned[0].options)
        )
    longer = longer_path(line)
    if longer is not None:
        found.append((*base, *must, *longer))
    spans = [Span(argv, 0, len(argv), HERE) for argv in found]
    return [
        argv
        for argv, span in zip(found, spans, strict=True)
        if Walk(line, span, lambda inner: None).run() is None  # noqa: ARG005
    ]


def required_words(line: CompiledLine, *, but: int = -1) -> list[str]:
    """One spelling of each option that must occur, but one."""
    words: list[str] = []
    for slot, _ in line.options.required:
        if slot == but:
            continue
        for option, form in option_spellings(line.options):
            if form.slot == slot:
                words += option
                break
    return words


def single_options(table: OptionTable) -> list[list[str]]:
    return [words for words, _ in option_spellings(table)]


def option_spellings(table: OptionTable) -> list[tuple[list[str], Form]]:
    """Every form of a table, written once for each word its type accepts."""
    found: list[tuple[list[str], Form]] = []
    for name, form in table.exact.items():
        values = [words_of(value)[:1] for value in form.values]
        if all(values):
            found.append(([name, *(v[0] for v in values)], form))
    for name, form in table.equals.items():
        found.extend(([f"{name}={word}"], form) for word in words_of(form.values[0])[:2])
    for prefix, form in table.attached:
        found.extend(([f"{prefix}{word}"], form) for word in words_of(form.values[0])[:2])
    for bundle in table.bundles:
        for letter, (form, _) in bundle.items():
            values = [words_of(value)[:1] for value in form.values]
            if all(values):
                found.append(([f"-{letter}", *(v[0] for v in values)], form))
    return found


def shortest_path(line: CompiledLine) -> list[str] | None:
    """The fewest operands that the line accepts."""
    layer: list[tuple[State, list[str]]] = [(line.operands.start, [])]
    seen: set[frozenset[int]] = set()
    for _ in range(12):
        following: list[tuple[State, list[str]]] = []
        for state, words in layer:
            if state.accepts:
                return words
            following.extend(
                (after, [*words, word])
                for word, after in steps(line, state)
                if after.follow not in seen or after.accepts
            )
            seen.add(state.follow)
        layer = following[:64]
    return None


def longer_path(line: CompiledLine) -> list[str] | None:
    """Some more operands than the fewest."""
    state, words = line.operands.start, []
    best: list[str] | None = None
    for _ in range(6):
        choices = steps(line, state)
        if not choices:
            break
        word, state = choices[0]
        words.append(word)
        if state.accepts:
            best = list(words)
    return best


def steps(line: CompiledLine, state: State) -> list[tuple[str, State]]:
    """Words that may come next, with the state after each."""
    found: list[tuple[str, State]] = []
    for index, _, _ in state.types:
        value = line.operands.places[index].value
        if value is not None:
            found.extend(
                (word, line.operands.step(state, (index,))) for word in words_of(value)[:1]
            )
    for word, taken in state.literals.items():
        found.append((word, line.operands.step(state, taken)))
    found.extend(("true", line.operands.step(state, (index,))) for index in state.commands)
    if state.marker:
        found.append(("--", line.operands.step(state, state.marker)))
    return found
