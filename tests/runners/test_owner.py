"""The dead are told from the living, and from those that nobody here can judge."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.owner import Owner, host_id, start_time


def owner_of(pid: int) -> Owner:
    return dataclasses.replace(Owner.me(), pid=pid, start=start_time(pid) or "-")


def test_this_process_is_alive():
    assert Owner.me().state() == "alive"


def test_an_owner_survives_being_written_down():
    assert Owner.parse(str(Owner.me())) == Owner.me()


def test_a_process_that_ended_is_dead():
    child = subprocess.Popen(["sleep", "60"])
    owner = owner_of(child.pid)
    assert owner.state() == "alive"
    child.kill()
    child.wait()
    assert owner.state() == "dead"


def test_a_killed_process_that_nobody_reaped_is_dead():
    child = subprocess.Popen(["sleep", "60"])
    owner = owner_of(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert owner.state() == "dead"
    finally:
        child.wait()


def test_a_pid_that_was_used_again_is_not_the_owner():
    assert dataclasses.replace(Owner.me(), start="1").state() == "dead"


def test_an_owner_from_before_a_restart_of_this_machine_is_dead():
    if host_id() == "-":
        pytest.skip("this machine has no machine id")
    assert dataclasses.replace(Owner.me(), boot="another").state() == "dead"


def test_an_owner_on_another_machine_cannot_be_judged():
    elsewhere = dataclasses.replace(Owner.me(), host="0123456789abcdef", boot="another")
    assert elsewhere.state() == "unknown"


def test_an_owner_in_another_pid_namespace_cannot_be_judged():
    assert dataclasses.replace(Owner.me(), namespace="1").state() == "unknown"


@pytest.mark.parametrize(
    "text", ["", "o1", "o2:a:b:c:1:2", "o1:a:b:c:x:2", "o1:a:b:c:²:2", "o1:a::c:1:2"]
)
def test_what_is_not_an_owner_is_refused(text):
    with pytest.raises(ValueError, match="not an owner"):
        Owner.parse(text)


@given(st.text())
def test_no_text_makes_the_parser_fail_in_another_way(text):
    with contextlib.suppress(ValueError):
        assert str(Owner.parse(text)) == text
