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


@pytest.mark.parametrize(("profile", "line", "wanted"), cases())
def test_a_command_of_a_manual_page_is_judged_as_intended(profile, line, wanted):
    try:
        verdict = load(profile).judge_plan(parse_line(line))
        got, why = verdict.decision.label, verdict.message
    except LineError as error:
        got, why = "deny", error.message
    assert got == wanted, why


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
