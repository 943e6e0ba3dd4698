"""Limits hold, and what is said of them has evidence."""

from __future__ import annotations

import time

import pytest

from policies import Limits
from runners import Ending, LimitHit

from .conftest import UID, one, python, shell, text

SPIN = "while True: pass"


async def test_cpu_time_ends_a_program_that_spins(session):
    began = time.monotonic()
    outcome = await session.run(python(SPIN), limits=Limits(cpu_seconds=1))
    assert time.monotonic() - began < 6
    assert (outcome.ending, outcome.limit) == (Ending.KILLED_BY_LIMIT, "cpu_seconds")
    assert [hit.limit for hit in outcome.limits_hit] == ["cpu_seconds"]
    assert 0.9 < outcome.cpu_seconds < 2.5


async def test_cpu_time_counts_all_processes_of_a_call(session):
    code = f"import os\nos.fork(); os.fork()\n{SPIN}"
    outcome = await session.run(python(code), limits=Limits(cpu_seconds=1, wall_seconds=15))
    assert (outcome.ending, outcome.limit) == (Ending.KILLED_BY_LIMIT, "cpu_seconds")
    assert outcome.wall_seconds < 8


async def test_memory_beyond_the_limit_is_an_error_inside_the_program(session):
    code = "try: x = bytearray(200 << 20)\nexcept MemoryError: print('refused')"
    outcome = await session.run(python(code), limits=Limits(memory_mib=100))
    assert (text(outcome), outcome.ending, outcome.limits_hit) == ("refused\n", "exited", ())


async def test_memory_of_a_whole_call_is_polled_where_no_cgroup_holds_it(open_session):
    session = await open_session(poll=True)
    code = "x = bytearray(os.urandom(1) * (60 << 20))\ntime.sleep(20)"
    code = f"import os, time\nos.fork(); os.fork()\n{code}"
    outcome = await session.run(python(code), limits=Limits(memory_mib=100))
    assert (outcome.ending, outcome.limit) == (Ending.KILLED_BY_LIMIT, "memory_mib")
    assert outcome.limits_hit == (LimitHit("memory_mib", "poller"),)
    assert outcome.peak_memory_bytes is not None
    assert outcome.peak_memory_bytes > 100 << 20


async def test_processes_are_polled_where_no_kernel_limit_counts_them(open_session, place):
    session = await open_session(poll=True, nproc=False)
    code = "import os, time\nfor i in range(40):\n    if os.fork() == 0: break\ntime.sleep(20)"
    outcome = await session.run(python(code), limits=Limits(processes=20))
    assert (outcome.ending, outcome.limit) == (Ending.KILLED_BY_LIMIT, "processes")
    assert place.alive() == []


@pytest.mark.skipif(UID is None, reason="only root can give programs a uid of their own")
async def test_processes_beyond_the_limit_are_refused(session):
    code = (
        "import os, time\nmade = 0\n"
        "try:\n"
        "    for i in range(100):\n"
        "        if os.fork() == 0: time.sleep(20)\n"
        "        made += 1\n"
        "except BlockingIOError: print(made < 20)\n"
    )
    outcome = await session.run(python(code), limits=Limits(processes=20))
    assert (text(outcome), outcome.code) == ("True\n", 0)


async def test_a_file_beyond_the_limit_ends_the_program_by_signal(session, place):
    outcome = await session.run(
        one("dd", "if=/dev/zero", "of=big", "bs=1M", "count=9"), limits=Limits(file_mib=4)
    )
    assert (outcome.ending, outcome.limit) == (Ending.KILLED_BY_LIMIT, "file_mib")
    assert outcome.limits_hit == (LimitHit("file_mib", "signal"),)
    assert (place.workspace / "big").stat().st_size == 4 << 20


async def test_open_files_are_limited(session):
    code = "import os\ntry:\n    while True: last = os.dup(1)\nexcept OSError: print(last)"
    outcome = await session.run(python(code), limits=Limits(open_files=32))
    assert text(outcome) == "31\n"


async def test_a_limit_beyond_the_sessions_does_not_raise_it(open_session):
    session = await open_session(limits=Limits(open_files=32, wall_seconds=5))
    outcome = await session.run(shell("ulimit -n"), limits=Limits(open_files=4096))
    assert text(outcome) == "32\n"


async def test_calls_with_different_limits_do_not_disturb_each_other(session):
    for files in (64, 32, 48, 64, 32):
        outcome = await session.run(shell("ulimit -n"), limits=Limits(open_files=files))
        assert text(outcome) == f"{files}\n"


async def test_hundreds_of_calls_under_a_small_cpu_limit_go_on(session):
    for _ in range(200):
        assert (await session.run(one("true"), limits=Limits(cpu_seconds=1))).ok


async def test_a_tiny_memory_limit_still_starts_programs(session):
    outcome = await session.run(one("echo", "small"), limits=Limits(memory_mib=1))
    assert text(outcome) == "small\n"


async def test_no_core_file_is_left(session, place):
    outcome = await session.run(shell("kill -QUIT $$"))
    assert (outcome.ending, outcome.signal) == (Ending.SIGNALLED, 3)
    assert list(place.workspace.iterdir()) == []


async def test_a_signal_that_is_no_limit_is_not_called_one(session):
    outcome = await session.run(shell("kill -KILL $$"))
    assert (outcome.ending, outcome.limit, outcome.limits_hit) == (Ending.SIGNALLED, None, ())
