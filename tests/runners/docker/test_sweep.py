"""Of all containers only those go that are ours and nobody's any more."""

from __future__ import annotations

import dataclasses

import pytest

from runners.docker.labels import Labels
from runners.docker.sweep import ABANDONED_SECONDS, is_leftover
from runners.owner import Owner

NOW = 2_000_000.0
ALIVE = Owner.me()
DEAD = dataclasses.replace(ALIVE, start="1")
ELSEWHERE = dataclasses.replace(ALIVE, host="f" * 16, boot="another")
OTHER_NAMESPACE = dataclasses.replace(ALIVE, namespace="1")


def container(owner, *, state="created", age=0.0, names=("/stockade-1",), **labels):
    return {
        "Id": "1",
        "Names": list(names),
        "State": state,
        "Created": NOW - age,
        "Labels": Labels("1", "run", owner).mapping() | labels,
    }


@pytest.mark.parametrize("state", ["created", "exited", "dead", "running", "paused"])
def test_what_a_dead_owner_left_goes_in_any_state(state):
    assert is_leftover(container(DEAD, state=state), NOW)


@pytest.mark.parametrize("state", ["created", "exited", "running"])
def test_what_a_living_owner_has_stays_however_old(state):
    assert not is_leftover(container(ALIVE, state=state, age=1e6), NOW)


@pytest.mark.parametrize("owner", [ELSEWHERE, OTHER_NAMESPACE])
def test_of_an_owner_that_cannot_be_judged_only_what_has_long_not_run_goes(owner):
    young, old = ABANDONED_SECONDS - 1, ABANDONED_SECONDS + 1
    judged = {
        (state, age): is_leftover(container(owner, state=state, age=age), NOW)
        for state in ("created", "running")
        for age in (young, old)
    }
    assert judged == {
        ("created", young): False,
        ("created", old): True,
        ("running", young): False,
        ("running", old): False,
    }


def test_a_container_of_another_name_stays_even_with_our_labels():
    assert not is_leftover(container(DEAD, names=["/postgres"]), NOW)


def test_a_container_without_our_labels_stays():
    assert not is_leftover({"Id": "1", "Names": ["/stockade-1"], "State": "exited"}, NOW)


def test_a_container_whose_owner_cannot_be_read_stays():
    assert not is_leftover(container(DEAD, **{"stockade.owner": "nonsense"}), NOW)
