from __future__ import annotations

import pytest

from harness.verify.reward import Reward, RewardError, parse_json, parse_number


@pytest.mark.parametrize(("text", "value"), [("1", 1.0), (" 0.5\n", 0.5), ("1e0", 1.0)])
def test_a_number_is_read(text: str, value: float) -> None:
    assert parse_number(text) == value


@pytest.mark.parametrize("text", ["", "passed", "1 1", "nan", "inf", "-inf"])
def test_what_is_no_finite_number_is_a_broken_verifier(text: str) -> None:
    with pytest.raises(RewardError):
        parse_number(text)


def test_an_object_is_numbers_by_name() -> None:
    assert parse_json('{"a": 1, "b": 0.5}') == (("a", 1.0), ("b", 0.5))


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[1]",
        '{"a": true}',
        '{"a": "1"}',
        '{"a": NaN}',
        "{",
        "null",
        "true",
        "[" * 9999,
        "1" + "0" * 400,
        '{"a": 1' + "0" * 400 + "}",
    ],
)
def test_what_is_no_object_of_finite_numbers_is_a_broken_verifier(text: str) -> None:
    with pytest.raises(RewardError):
        parse_json(text)


@pytest.mark.parametrize(
    ("values", "reached"),
    [((1.0,), True), ((1.0, 2.0), True), ((1.0, 0.99), False), ((0.0,), False)],
)
def test_every_value_must_reach_the_bar(values, reached) -> None:
    reward = Reward(tuple((f"v{i}", value) for i, value in enumerate(values)))
    assert (reward.shortfall(1.0) == "") is reached


@pytest.mark.parametrize(
    ("bar", "shortfall"),
    [
        ((("speed", 0.5),), ""),
        ((("speed", 0.9),), "speed is 0.5, which is below 0.9"),
        ((("size", 0.1),), "there is no size, which should be at least 0.1"),
    ],
)
def test_a_bar_by_name_holds_for_these_values_alone(bar, shortfall: str) -> None:
    assert Reward((("speed", 0.5), ("right", 0.0))).shortfall(bar) == shortfall


def test_a_single_number_stays_a_number() -> None:
    assert Reward((("reward", 1.0),)).single == 1.0
