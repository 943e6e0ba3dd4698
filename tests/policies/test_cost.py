"""The cost of judging stays linear, whatever the line and the command look like."""

from __future__ import annotations

import time

import pytest

from tests.policies.writing import code, judge, lines


def seconds(found, *argv: str) -> float:
    best = 9.0
    for _ in range(3):
        start = time.perf_counter()
        judge(found, *argv)
        best = min(best, time.perf_counter() - start)
    return best


def test_more_words_than_a_command_may_have_are_refused_at_once(tmp_path):
    found = lines(tmp_path, "echo [ANY...]")
    assert code(judge(found, "echo", *["x"] * 10_000)) == "too-many-words@4096"


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("prog [PATH...] [PATH...] [PATH...] [PATH...] x", "a"),
        ("prog [(a | a a | a a a)...] x", "a"),
        ("prog [([([a]...)]...)]... b", "a"),
        ("prog [(PATH [PATH...])...] '!'", "a"),
        ("prog [-a INT|-b]... [ANY...]", "-b"),
    ],
)
def test_deep_alternatives_cost_width_not_time(line, word, tmp_path):
    found = lines(tmp_path, line)
    assert seconds(found, "prog", *[word] * 4000) < 1.0


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "(a|a)*b", "(a*)*(a*)*b", "(a|aa){1,40}b", ".*.*.*x"]
)
def test_long_regular_expressions_take_one_step_a_character(pattern, tmp_path):
    found = lines(tmp_path, f"prog RE(/{pattern}/)")
    assert seconds(found, "prog", "a" * 30_000) < 0.5


def test_inner_commands_are_judged_once_each(tmp_path):
    found = lines(tmp_path, "a [b] CMD", "b [a] CMD", "c ANY...")
    assert seconds(found, *["a", "b"] * 2000, "c") < 1.0


def test_nested_commands_end_at_a_depth(tmp_path):
    found = lines(tmp_path, "a CMD", "ls")
    assert code(judge(found, *["a"] * 5, "ls")) == "inner-depth@5"
    assert code(judge(found, *["a"] * 4, "ls")) == "allow"
