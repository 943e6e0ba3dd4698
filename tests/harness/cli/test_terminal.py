from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cli.terminal import Escaper, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, ünïcode and tabs\t\n", "plain text, ünïcode and tabs\t\n"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("over\rwritten", "over\\x0dwritten"),
        ("\x07\x7f\x9b", "\\x07\\x7f\\x9b"),
        ("right\u202eleft", "right\\u202eleft"),
    ],
)
def test_what_could_steer_a_terminal_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_bytes_that_are_no_text_are_written_out() -> None:
    assert Escaper().feed(b"a\xffb", final=True) == "a\\xffb"


def test_a_character_split_between_two_reads_stays_whole() -> None:
    escaper = Escaper()
    assert [escaper.feed(b"\xc3"), escaper.feed(b"\xa4")] == ["", "ä"]


@given(st.text())
def test_nothing_but_lines_and_tabs_is_left_unprintable(text: str) -> None:
    assert all(c.isprintable() or c in "\n\t" for c in visible(text))
