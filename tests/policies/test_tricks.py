"""Ways to make allowed programs do something else, each beside an allowed twin."""

from __future__ import annotations

import shlex
from functools import cache
from pathlib import Path

import pytest

from policies import Command, Decision, Policy, Verdict, load

CASES = Path(__file__).parent / "cases" / "tricks.txt"


def rows() -> list[tuple[str, str]]:
    found = [line.split(" :: ") for line in CASES.read_text().splitlines() if " :: " in line]
    return [(row[0], row[1]) for row in found if not row[0].startswith("#")]


@cache
def policy() -> Policy:
    return load("python-dev")


def judged(text: str) -> Verdict:
    return policy().judge(Command(tuple(shlex.split(text))))


@pytest.mark.parametrize(("trick", "twin"), rows())
def test_a_trick_is_denied_and_its_twin_is_not(trick, twin):
    denied, allowed = judged(trick), judged(twin)
    assert (denied.decision, allowed.decision) == (Decision.DENY, Decision.ALLOW), allowed.message


def test_there_are_at_least_150_tricks_no_further_than_two_words_from_their_twins():
    far = [
        (trick, twin)
        for trick, twin in rows()
        if len(set(shlex.split(trick)) - set(shlex.split(twin))) > 3
    ]
    assert (len(rows()) >= 150, far) == (True, [])
