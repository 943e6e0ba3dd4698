"""Every call ends, and nothing of it lives on, whatever a program does to stay."""

from __future__ import annotations

import asyncio
import os
import time

import pytest

from policies import Limits
from runners import Ending

from .conftest import UID, one, python, shell, text

SHORT = Limits(wall_seconds=0.5)

DAEMON = """
import os, signal, sys, time
if os.fork(): os._exit(0) if {leave} else time.sleep(100)
os.setsid()
if os.fork(): os._exit(0)
signal.pthread_sigmask(signal.SIG_BLOCK, set(range(1, 65)))
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
print("daemon", flush=True)
time.sleep(100)
"""

SUBREAPER = """
import ctypes, os, time
ctypes.CDLL(None).prctl(36, 1)
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    time.sleep(100)
time.sleep(100)
"""

RESPAWN = """
import os, time
while True:
    if os.fork(): os._exit(0)
    os.setsid()
"""

PAIR = """
import os, time
def watch(pid):
    while True:
        try: os.kill(pid, 0)
        except OSError: return
        time.sleep(0.001)
other = os.getppid()
while True:
    child = os.fork()
    if child == 0: continue
    watch(child)
"""

STOP_ALL = """
import os, signal, time
os.kill(os.getppid(), signal.SIGSTOP)
if os.fork() == 0: time.sleep(100)
time.sleep(100)
"""


@pytest.mark.parametrize(
    "code",
    [
        DAEMON.format(leave=False),
        SUBREAPER,
        RESPAWN,
        STOP_ALL,
        "import time; time.sleep(100)",
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    ],
    ids=["daemon", "subreaper", "respawn", "stop-slot", "sleep", "stopped"],
)
async def test_a_call_ends_at_its_limit_and_nothing_of_it_lives(session, place, code):
    before = len(place.alive())
    began = time.monotonic()
    outcome = await session.run(python(code), limits=SHORT)
    assert time.monotonic() - began < 2
    assert outcome.ending in (Ending.TIMED_OUT, Ending.EXITED)
    assert len(place.alive()) == before
    assert (await session.run(one("echo", "on"))).stdout.head == b"on\n"


async def test_the_result_does_not_wait_for_who_holds_the_pipe(session, place):
    began = time.monotonic()
    outcome = await session.run(python(DAEMON.format(leave=True)), limits=Limits(wall_seconds=10))
    assert time.monotonic() - began < 5
    assert (outcome.ending, outcome.code) == (Ending.EXITED, 0)
    assert place.alive() == []


async def test_a_timeout_is_told_with_what_was_said_before(session):
    outcome = await session.run(shell("echo early; sleep 100"), limits=SHORT)
    assert (outcome.ending, outcome.code, outcome.signal) == (Ending.TIMED_OUT, None, 9)
    assert text(outcome) == "early\n"
    assert [(hit.limit, hit.evidence) for hit in outcome.limits_hit] == [("wall_seconds", "poller")]


@pytest.mark.skipif(UID is None, reason="only root can give programs a uid of their own")
async def test_a_fork_bomb_ends_within_two_seconds_of_its_limit(session, place):
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    began = time.monotonic()
    outcome = await session.run(python(bomb), limits=Limits(wall_seconds=1, processes=64))
    assert time.monotonic() - began < 4
    assert outcome.ending in (Ending.TIMED_OUT, Ending.KILLED_BY_LIMIT)
    assert place.alive() == []
    assert (await session.run(one("true"))).ok


async def test_overlapping_calls_end_alone(session, place):
    async def call(seconds, code):
        return await session.run(python(code), limits=Limits(wall_seconds=seconds))

    steady = "import time\nfor i in range(15): print(i, flush=True); time.sleep(0.1)"
    outcomes = await asyncio.gather(
        call(10, steady),
        call(0.5, SUBREAPER),
        call(0.6, DAEMON.format(leave=False)),
        call(0.7, RESPAWN),
        call(0.4, STOP_ALL),
    )
    assert outcomes[0].ok
    assert text(outcomes[0]) == "".join(f"{number}\n" for number in range(15))
    assert place.alive() == []


async def test_overlapping_calls_run_at_the_same_time(session):
    await asyncio.gather(*[session.run(one("true")) for _ in range(8)])
    began = time.monotonic()
    outcomes = await asyncio.gather(*[session.run(one("sleep", "0.5")) for _ in range(8)])
    assert all(outcome.ok for outcome in outcomes)
    assert time.monotonic() - began < 2


async def test_a_program_that_kills_its_slot_spoils_its_own_call_only(session, place):
    suicide = "import os, time\nif os.fork(): os.kill(os.getppid(), 9)\ntime.sleep(100)"
    steady = session.run(shell("sleep 1; echo done"))
    spoiled = session.run(python(suicide))
    other, outcome = await asyncio.gather(steady, spoiled)
    assert outcome.ending is Ending.LOST
    assert text(other) == "done\n"
    assert place.alive() == []
    assert (await session.run(one("true"))).ok


async def test_the_supervisor_cannot_be_limited_from_inside(session):
    code = (
        "import resource, os\n"
        "stat = open('/proc/%d/stat' % os.getppid()).read()\n"
        "top = int(stat.rpartition(')')[2].split()[1])\n"
        "for pid in (top, os.getppid()):\n"
        "    try: resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0)); print('done')\n"
        "    except PermissionError: print('refused')\n"
        "resource.prlimit(0, resource.RLIMIT_NOFILE, (9, 9)); print('own')\n"
    )
    outcome = await session.run(python(code))
    assert text(outcome) == "refused\nrefused\nown\n"


async def test_the_supervisor_and_its_slots_cannot_be_looked_into(session):
    code = (
        "import os\n"
        "stat = open('/proc/%d/stat' % os.getppid()).read()\n"
        "top = int(stat.rpartition(')')[2].split()[1])\n"
        "for pid in (top, os.getppid()):\n"
        "    for name in ('mem', 'environ', 'fd/0', 'cwd'):\n"
        "        try: open(f'/proc/{pid}/{name}', 'rb'); print('open', name)\n"
        "        except PermissionError: pass\n"
    )
    expected = "" if UID is not None else None
    outcome = await session.run(python(code))
    assert outcome.ok
    assert expected is None or text(outcome) == expected


async def test_cancelling_ends_the_call_before_it_raises(session, place):
    task = asyncio.create_task(session.run(python(SUBREAPER)))
    while len(place.alive()) < 2:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert place.alive() == []
    assert (await session.run(one("true"))).ok


async def test_cancelling_one_call_leaves_the_others(session):
    steady = asyncio.create_task(session.run(shell("sleep 1; echo done")))
    ended = asyncio.create_task(session.run(one("sleep", "100")))
    await session.ping()
    ended.cancel()
    assert text(await steady) == "done\n"
    assert ended.cancelled()


async def test_calls_that_have_not_started_can_be_cancelled(session, place):
    tasks = [asyncio.create_task(session.run(one("sleep", "100"))) for _ in range(80)]
    await session.ping()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert place.alive() == []
    assert (await session.run(one("true"))).ok


@pytest.mark.skipif(UID is None, reason="kill(-1) needs a uid that nobody else has")
async def test_calls_right_after_a_hard_end_are_whole(session):
    forks = "for i in range(6):\n    if os.fork() == 0: os.setsid()\n"
    stubborn = f"import os, time\n{forks}time.sleep(100)"
    for _ in range(5):
        await asyncio.gather(*[session.run(one("true")) for _ in range(4)])  # idle slots
        hard = asyncio.create_task(session.run(python(stubborn)))
        await asyncio.sleep(0.2)
        hard.cancel()
        await asyncio.wait([hard])
        outcomes = await asyncio.gather(*[session.run(one("echo", "on")) for _ in range(4)])
        assert [text(outcome) for outcome in outcomes] == ["on\n"] * 4


@pytest.mark.skipif(UID is None, reason="only root can kill what has another uid")
async def test_slots_that_were_killed_while_idle_are_replaced(session):
    await asyncio.gather(*[session.run(one("sleep", "0.2")) for _ in range(4)])
    supervisor = session.facts["pid"]
    with open(f"/proc/{supervisor}/task/{supervisor}/children") as file:
        for pid in file.read().split():
            os.kill(int(pid), 9)
    outcomes = await asyncio.gather(*[session.run(one("echo", "on")) for _ in range(6)])
    assert [text(outcome) for outcome in outcomes] == ["on\n"] * 6
