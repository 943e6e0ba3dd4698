"""One hostile call beside others of its session: the others run on and keep what is theirs."""

from __future__ import annotations

import asyncio

import pytest

from runners.outcome import Ending

from .conftest import Clock, Opening

pytestmark = pytest.mark.asyncio(loop_scope="module")

VICTIM = "import time, sys; [(time.sleep(0.1), print(n)) for n in range(12)]"
NUMBERS = "".join(f"{n}\n" for n in range(12))

ATTACKS = {
    "kills everybody": "import os\ntry: os.kill(-1, 9)\nexcept OSError: pass",
    "stops everybody": (
        "import os, signal, time\nsignal.signal(20, signal.SIG_IGN)\n"
        "for pid in range(2, 64):\n"
        "    if pid != os.getpid():\n"
        "        try: os.kill(pid, 19)\n"
        "        except OSError: pass\n"
    ),
    "limits everybody": (
        "import os, resource\n"
        "for pid in range(1, 64):\n"
        "    if pid != os.getpid():\n"
        "        try: resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0))\n"
        "        except OSError: pass\n"
    ),
    "lowers everybody": (
        "import os\n"
        "for pid in range(1, 64):\n"
        "    if pid != os.getpid():\n"
        "        try: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))\n"
        "        except OSError: pass\n"
    ),
    "kills its slot": "import os; os.kill(os.getppid(), 9)",
}


LONG = "stops everybody"  # each turn of it lasts until its limit


@pytest.mark.parametrize(
    "attack",
    [pytest.param(a, marks=pytest.mark.slow) if a == LONG else a for a in ATTACKS],
)
async def test_another_call_runs_on(open_box: Opening, attack: str) -> None:
    async with open_box(wall_seconds=10) as box:
        victim = asyncio.create_task(box.python(VICTIM))
        await asyncio.sleep(0.3)
        with Clock() as clock:
            for _ in range(3):
                await box.python(ATTACKS[attack], wall=3)
        outcome = await victim
        assert (outcome.ending, outcome.stdout.text()) == (Ending.EXITED, NUMBERS)
        assert clock.seconds < 10
        assert await box.is_well()


async def test_memory_of_another_call_is_closed(open_box: Opening) -> None:
    code = """
import os
opened = []
for pid in range(1, 64):
    if pid != os.getpid():
        for name in ('mem', 'environ', 'maps', 'fd/0', 'fd/1'):
            try: opened.append(os.open(f'/proc/{pid}/{name}', os.O_RDONLY))
            except OSError: pass
print(len(opened))
"""
    async with open_box() as box:
        victim = asyncio.create_task(box.run("sleep", "2"))
        await asyncio.sleep(0.3)
        seen = await box.said(code)
        victim.cancel()
        await asyncio.gather(victim, return_exceptions=True)
        assert seen == "0"


async def test_cancelling_one_call_leaves_the_other(open_box: Opening) -> None:
    async with open_box() as box:
        other = asyncio.create_task(box.python(VICTIM))
        doomed = asyncio.create_task(box.run("sh", "-c", "trap '' TERM; setsid sleep 60 & wait"))
        await asyncio.sleep(0.4)
        doomed.cancel()
        await asyncio.gather(doomed, return_exceptions=True)
        assert (await other).stdout.text() == NUMBERS


async def test_a_flood_in_one_call_does_not_hold_another_up(open_box: Opening) -> None:
    async with open_box(wall_seconds=4) as box:
        flood = asyncio.create_task(box.run("yes"))
        await asyncio.sleep(0.3)
        with Clock() as clock:
            outcomes = [await box.run("true") for _ in range(10)]
        assert ({o.ending for o in outcomes}, clock.seconds < 3) == ({Ending.EXITED}, True)
        assert (await flood).ending is Ending.TIMED_OUT
