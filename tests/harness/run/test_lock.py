from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.run.lock import check_locked, differences


def test_equal_locks_have_no_differences_but_the_run_itself() -> None:
    old = {"run": "a", "at": "then", "image": {"id": "sha256:1"}}
    assert differences(old, {"run": "b", "at": "now", "image": {"id": "sha256:1"}}) == []


def test_a_difference_is_named_by_its_dotted_key() -> None:
    old, new = {"image": {"id": "1", "name": "python"}}, {"image": {"id": "2", "name": "python"}}
    assert differences(old, new) == ["image.id: '1' is now '2'"]


def test_a_key_that_came_or_went_is_a_difference() -> None:
    assert differences({"a": 1}, {"b": 2}) == ["a: 1 is now None", "b: None is now 2"]


def test_a_locked_run_that_differs_is_refused_with_the_place_of_the_lock() -> None:
    with pytest.raises(ConfigError, match=r"(?s)differs from lock\.json.*policy\.digest"):
        check_locked((Path("lock.json"), {"policy": {"digest": "a"}}), {"policy": {"digest": "b"}})
