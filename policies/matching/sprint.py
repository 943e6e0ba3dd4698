"""The usual words of a command, at once: the hot path of judging.

Simple is: a pinned word at the beginning, an option word with at most one value, the end marker,
and an operand where only one type may come. Everything else, and every fault, is left to the walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from policies.matching.operands import State
from policies.values.value import Place
from policies.verdict import PathCheck, fast_path_check

if TYPE_CHECKING:
    from policies.matching.line import CompiledLine

__all__ = ["Trail", "dash", "sprint"]

Trail: TypeAlias = list[tuple[int, tuple[int, ...]]]
"""Which positions of the line took the word at an index."""

Reached: TypeAlias = tuple[int, State, int, bool, bool]
"""The next word, the state before it, the first operand, after the marker, no more options."""


def dash(line: CompiledLine, words: Sequence[str], place: Place) -> list[PathCheck] | None:
    """The path checks of a command that the line accepts, if all of its words are simple."""
    if line.file is not None:
        return None
    at, end = 1, len(words)
    pinned = line.pinned
    if pinned:
        if len(pinned) > 1 or end < 2 or words[1] not in pinned[0].bare:
            return None
        at = 2
    used: dict[int, str] = {}
    checks: list[PathCheck] = []
    trail: Trail = []
    start = line.operands.start
    reached = sprint(line, words, end, place, used, checks, trail, at, start, -1, False, line.words)
    if reached[0] < end or not reached[1].accepts:
        return None
    for slot, _ in line.required:
        if slot not in used:
            return None
    paths = line.operands.paths
    for at, taken in trail:
        value = paths[taken[0]]
        if value is not None:
            word = words[at][value.prefix :] if value.prefix else words[at]
            checks.append(fast_path_check(at, word, value.path, value.writable, value.root))
    return checks


def sprint(  # noqa: C901, PLR0913, PLR0917 (the hot path: no object to keep this in, no call for a word)
    line: CompiledLine,
    words: Sequence[str],
    end: int,
    place: Place,
    used: dict[int, str],
    checks: list[PathCheck],
    trail: Trail,
    at: int,
    state: State,
    first: int,
    after: bool,  # noqa: FBT001
    ended: bool,  # noqa: FBT001
) -> Reached:
    """Go as far as the simple cases reach; stop before the first word that is none.

    ``used``, ``checks`` and ``trail`` are added to.
    """
    quick = line.options.quick
    while at < end:
        word = words[at]
        if word[:1] == "-" and not after:
            if ended:
                break
            form = quick.get(word)
            if form is None or (form.slot in used and not form.repeat):
                if word != "--" or not state.marker:
                    break
                trail.append((at, state.marker))
                state = state.steps.get(state.marker) or line.operands.step(state, state.marker)
                after = ended = True
                at += 1
                continue
            values = form.values
            if values:
                value = values[0]
                if len(values) > 1 or at + 1 >= end:
                    break
                text = words[at + 1]
                if text[:1] == "-" or value.check(text, place) is not None:
                    break
                if value.path:
                    check = fast_path_check(at + 1, text, value.path, value.writable, value.root)
                    checks.append(check)
                at += 1
            used[form.slot] = form.name
            at += 1
            continue
        single = state.single
        if (
            single is None
            or word in state.literals
            or word[:1] == "+"
            or single.check(word, place) is not None
        ):
            break
        if first < 0:
            first = at
            if line.posix:
                ended = True
        trail.append((at, single.taken))
        if single.after is None:
            single.after = line.operands.step(state, single.taken)
        state = single.after
        at += 1
    return at, state, first, after, ended
