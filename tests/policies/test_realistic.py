"""Commands from manual pages, judged by the profile that should know them."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import policies
from policies import LineError, parse_line

FOLDER = Path(__file__).parent / "cases" / "realistic"


def cases() -> list[tuple[str, str, str]]:
    """Profile, command line and the decision it must get."""
    found: list[tuple[str, str, str]] = []
    for path in sorted(FOLDER.glob("*.txt")):
        texts = path.read_text().splitlines()
        rows = [text for text in texts if text and not text.startswith("# ")]
        found += [(path.stem, line, wanted) for wanted, _, line in (r.partition(" ") for r in rows)]
    return found


load = cache(policies.load)


def judged(profile: str, line: str) -> tuple[str, str]:
    """The decision with its reason."""
    try:
        verdict = load(profile).judge_plan(parse_line(line))
    except LineError as error:
        return "deny", error.message
    return verdict.decision.label, verdict.message


@pytest.mark.parametrize("profile", sorted(path.stem for path in FOLDER.glob("*.txt")))
def test_commands_of_manual_pages_are_judged_as_intended(profile):
    own = [(line, wanted) for name, line, wanted in cases() if name == profile]
    got = [(line, *judged(profile, line), wanted) for line, wanted in own]
    assert [(line, why) for line, decision, why, wanted in got if decision != wanted] == []


def test_every_section_of_commands_names_its_source():
    first = [path.read_text().splitlines()[0][:2] for path in sorted(FOLDER.glob("*.txt"))]
    assert first == ["# "] * len(first)


def test_there_are_hundreds_of_commands_for_the_profiles_beside_python_dev():
    assert len(set(cases())) == len(cases()) >= 300
    known = set(policies.profile_names()) - {"base", "git-read", "python-dev", "work"}
    assert set(Counter(profile for profile, _, _ in cases())) == known


def test_the_profiles_together_know_at_least_eighty_programs():
    found = {e.line.program for name in policies.profile_names() for e in load(name).entries}
    assert len(found) >= 80
