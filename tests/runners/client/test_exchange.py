"""When the harness says that a box should have ended a call by now."""

from __future__ import annotations

import pytest

from runners.client.exchange import Exchange

GRACE = 15.0
OUTPUT = {"t": "out", "c": 1, "s": 1, "at": 0}


@pytest.fixture
def exchange() -> Exchange:
    return Exchange(1, due=100.0)


def test_a_call_is_overdue_after_its_time(exchange):
    assert [exchange.overdue(now, GRACE) for now in (99.0, 100.0, 101.0)] == [False, False, True]


def test_a_call_that_is_done_is_not_overdue(exchange):
    exchange.finish({"t": "done", "c": 1})
    assert not exchange.overdue(101.0, GRACE)


def test_a_call_whose_output_waits_for_us_is_not_overdue(exchange):
    exchange.output(OUTPUT, b"text")
    assert not exchange.overdue(101.0, GRACE)


def test_after_the_output_was_taken_the_box_has_a_while_again(exchange):
    exchange.output(OUTPUT, b"text")
    exchange.overdue(101.0, GRACE)
    exchange.consumed(1, 4)
    assert [exchange.overdue(now, GRACE) for now in (115.0, 117.0)] == [False, True]
