"""Bombs, daemons, signals: a call ends with all that it started, in time, and the box lives on."""

from __future__ import annotations

import pytest

from runners.outcome import Ending

from .conftest import Clock, Opening

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOMB = """
import os
while True:
    try: os.fork()
    except OSError: pass
"""
DEAF = """
import os, signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
"""
LATE = 1.5  # seconds after its limit in which a call has to be over on a loaded machine


async def test_a_fork_bomb_ends_at_its_limit(open_box: Opening) -> None:
    async with open_box(processes=64) as box:
        with Clock() as clock:
            outcome = await box.python(BOMB, wall=1)
        assert (outcome.ending, clock.seconds < 1 + LATE) == (Ending.TIMED_OUT, True)
        assert await box.is_well()


async def test_a_fork_bomb_leaves_the_session_able_to_answer(open_box: Opening) -> None:
    import asyncio

    async with open_box(processes=64) as box:
        bomb = asyncio.create_task(box.python(BOMB, wall=2))
        await asyncio.sleep(0.7)
        during = await asyncio.gather(*[box.run("true") for _ in range(6)])
        reads = await asyncio.gather(*[box.session.read_file("none") for _ in range(6)])
        assert {outcome.ending for outcome in during} == {Ending.EXITED}
        assert {read.code for read in reads} <= {"not-found", "busy"}
        assert (await bomb).ending is Ending.TIMED_OUT
        assert await box.is_well()


async def test_a_program_cannot_make_the_supervisor_yield(open_box: Opening) -> None:
    async with open_box() as box:
        with Clock() as clock:
            outcome = await box.attack("starve", wall=1)
        assert (outcome.ending, clock.seconds < 1 + LATE) == (Ending.TIMED_OUT, True)
        assert await box.is_well()


@pytest.mark.parametrize("words", [("16",), ("16", "reaper"), ("16", "slot"), ("64", "slot")])
async def test_chains_of_forks_end_with_their_call(
    open_box: Opening, words: tuple[str, ...]
) -> None:
    async with open_box(processes=100) as box:
        with Clock() as clock:
            outcome = await box.attack("ring", *words, wall=10)
        killed = "slot" in words
        assert outcome.ending is (Ending.LOST if killed else Ending.EXITED)
        assert clock.seconds < 6
        assert await box.is_well()
        if box.session.isolation.label != "process":  # there /proc is closed to programs
            others = "import os; print(len([n for n in os.listdir('/proc') if n.isdigit()]))"
            assert int(await box.said(others)) <= 7  # the supervisor, slots, itself


async def test_a_program_that_stops_everybody_ends_at_its_limit(open_box: Opening) -> None:
    code = """
import os, signal
os.fork()
for pid in (os.getppid(), 1, -1):
    try: os.kill(pid, signal.SIGSTOP)
    except OSError: pass
signal.pause()
"""
    async with open_box() as box:
        with Clock() as clock:
            outcome = await box.python(code, wall=1)
        assert (outcome.ending, clock.seconds < 1 + LATE) == (Ending.TIMED_OUT, True)
        assert await box.is_well()


async def test_a_program_that_stops_its_slot_and_leaves_ends_at_the_latest_at_its_limit(
    open_box: Opening,
) -> None:
    async with open_box() as box:
        with Clock() as clock:
            await box.python("import os; os.kill(os.getppid(), 19)", wall=1)
        assert clock.seconds < 1 + LATE
        assert await box.is_well()


@pytest.mark.parametrize("number", [9, 11, 15, 31])
async def test_signals_to_everybody_hurt_their_own_call_only(
    open_box: Opening, number: int
) -> None:
    async with open_box() as box:
        code = f"import os; os.kill(os.getppid(), {number}) or os.kill(-1, {number})"
        outcome = await box.python(code, wall=3)
        assert outcome.ending in (
            Ending.LOST,
            Ending.SIGNALLED,
            Ending.EXITED,
            Ending.TIMED_OUT,
        )
        assert await box.is_well()


async def test_a_daemon_that_hears_no_signal_ends_with_its_call(open_box: Opening) -> None:
    code = (
        DEAF
        + """
import time
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        while True: open('beat', 'a').write('x'); time.sleep(0.005)
while not os.path.exists('beat'): time.sleep(0.005)
"""
    )
    async with open_box() as box:
        assert (await box.python(code, wall=10)).ok
        before = await box.session.read_file("beat")
        await box.run("sleep", "0.1")
        assert await box.session.read_file("beat") == before


async def test_zombies_are_collected(open_box: Opening) -> None:
    code = """
import os, time
def fork():
    for _ in range(2000):
        try: return os.fork()
        except BlockingIOError: time.sleep(0.001)
for _ in range(300):
    pid = fork()
    if pid == 0:
        fork()
        os._exit(0)
    os.waitpid(pid, 0)
print('all')
"""
    async with open_box(processes=64) as box:
        assert await box.said(code) == "all"
        assert await box.is_well()


async def test_what_begins_at_the_very_end_of_a_call_ends_with_it(open_box: Opening) -> None:
    code = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        parent = os.getppid()
        while os.getppid() == parent: pass
        for _ in range(3):
            if os.fork() == 0: os.setsid()
        while True: open('late', 'a').write('x'); time.sleep(0.002)
"""
    async with open_box(processes=64) as box:
        for _ in range(5):
            outcome = await box.python(code, wall=10)
            assert outcome.ending is Ending.EXITED
        before = await box.session.read_file("late")
        await box.run("sleep", "0.1")
        assert await box.session.read_file("late") == before
