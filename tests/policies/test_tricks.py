"""Tricks: words that make an allowed program run, write, read or reach what it must not."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import policies
from policies import Command, Decision, Policy

CASES = Path(__file__).parent / "cases" / "tricks.txt"
EFFECTS = {"runs", "writes", "reads", "reaches"}


@dataclass(frozen=True)
class Trick:
    """A denied command beside its allowed twin."""

    profile: str
    twin: tuple[str, ...]
    words: tuple[str, ...]
    effect: str
    source: str

    def __str__(self) -> str:
        return f"{self.profile}: {shlex.join(self.words)}"


def tricks() -> Iterator[Trick]:
    profile = ""
    for text in CASES.read_text().splitlines():
        if text.startswith("## "):
            profile = text[3:]
        elif text and not text.startswith("# "):
            pair, effect, source = text.split(" :: ")
            twin, words = pair.split(" => ")
            yield Trick(
                profile, tuple(shlex.split(twin)), tuple(shlex.split(words)), effect, source
            )


ALL = list(tricks())
load = cache(policies.load)


def distance(one: tuple[str, ...], two: tuple[str, ...]) -> int:
    """Words to insert, remove or exchange to make the one the other."""
    row = list(range(len(two) + 1))
    for at, word in enumerate(one, 1):
        above, row = row, [at]
        for column, other in enumerate(two, 1):
            exchanged = above[column - 1] + (word != other)
            row.append(min(above[column] + 1, row[-1] + 1, exchanged))
    return row[-1]


def decision(policy: Policy, words: tuple[str, ...]) -> Decision:
    return policy.judge(Command(words)).decision


@pytest.mark.parametrize("profile", sorted({trick.profile for trick in ALL}))
def test_tricks_are_denied_beside_their_allowed_twins(profile):
    policy = load(profile)
    own = [trick for trick in ALL if trick.profile == profile]
    twins = [shlex.join(t.twin) for t in own if decision(policy, t.twin) is not Decision.ALLOW]
    passed = [str(t) for t in own if decision(policy, t.words) is not Decision.DENY]
    assert (twins, passed) == ([], [])


def test_every_trick_is_its_twin_but_for_two_words():
    far = [str(one) for one in ALL if distance(one.twin, one.words) > 2]
    assert far == []
    assert [str(one) for one in ALL if one.twin[0] != one.words[0]] == []


def test_there_are_many_different_tricks_of_every_effect_with_their_sources():
    assert len({(one.profile, one.words) for one in ALL}) == len(ALL) >= 150
    assert {one.effect for one in ALL} == EFFECTS
    assert all(one.source for one in ALL)
