"""Promises 2, 3 and 9: a call ends in time, takes all it started with it, and nothing else.

A descendant shows that it lives by a heartbeat: it makes a file longer. A file that stays as it
is for fifty beats belongs to nobody.
"""

from __future__ import annotations

import asyncio
import dataclasses

from policies import Limits
from runners.conformance.check import (
    Opening,
    Registry,
    expect,
    promised,
    python,
    run,
    within,
)
from runners.contract import Session
from runners.outcome import Ending, FileData

__all__ = ["CHECKS"]

check = Registry()
CHECKS = check.checks

QUIET_SECONDS = 0.5
LENIENT_SECONDS = 10  # where the end in time is another check's matter
GRACE_SECONDS = 2.5  # beyond the wall limit: "a second or two", on a loaded machine

HEART = """
import os, signal, sys, time
def beat():
    with open("beat", "ab", 0) as file:
        while True:
            file.write(b".")
            time.sleep(0.01)
def wait_for_beat():
    for _ in range(500):
        if os.path.exists("beat") and os.path.getsize("beat"): return
        time.sleep(0.01)
def deaf():
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
"""

BACKGROUND = """
if os.fork() == 0: beat()
wait_for_beat()
"""

HIDDEN = """
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    deaf()
    beat()
wait_for_beat()
"""

RESPAWNING = """
def guard(depth):
    deaf()
    while True:
        os.setsid() if os.getpid() != os.getsid(0) else None
        child = os.fork()
        if child == 0:
            if depth: guard(depth - 1)
            beat()
        os.waitpid(child, 0)
if os.fork() == 0: guard(3)
wait_for_beat()
"""

PATIENT = """
import os, time
with open("waiting", "w") as file: file.write("1")
while not os.path.exists("go"): time.sleep(0.02)
print("whole")
"""

FOREVER = "\ntime.sleep(1000)\n"


async def beats(session: Session) -> int:
    """How long the heartbeat file is; 0 when there is none."""
    data = await session.read_file("beat", limit=1)
    return data.size if isinstance(data, FileData) else 0


async def there(session: Session, path: str) -> None:
    """Wait until a program has written to this file."""
    for _ in range(1000):
        data = await session.read_file(path, limit=1)
        if isinstance(data, FileData) and data.size:
            return
        await asyncio.sleep(0.02)
    promised(False, f"no program wrote to {path!r}")


async def expect_silence(session: Session, what: str) -> None:
    """Broken when something still beats, or never did."""
    before = await beats(session)
    promised(before, f"{what}: the descendant never lived, so this check shows nothing")
    await asyncio.sleep(QUIET_SECONDS)
    expect(await beats(session), before, f"{what}: length of the heartbeat after the call")


async def ends_with_its_call(opening: Opening, code: str, what: str) -> None:
    """Run to the end of the main process, then listen."""
    async with opening() as session:
        with within(LENIENT_SECONDS, what):
            outcome = await python(session, HEART + code, limits=Limits(wall_seconds=30))
        expect(outcome.code, 0, f"{what}: exit code of the main process")
        await expect_silence(session, what)


async def ends_with_its_limit(opening: Opening, code: str, what: str) -> None:
    """Run into the wall limit, then listen."""
    async with opening() as session:
        with within(1.5 + LENIENT_SECONDS, what):
            limits = Limits(wall_seconds=1.5)
            outcome = await python(session, HEART + code + FOREVER, limits=limits)
        expect(outcome.ending, Ending.TIMED_OUT, f"{what}: ending")
        await expect_silence(session, what)


@check(2)
async def a_background_child_ends_with_its_call(opening: Opening) -> None:
    """Though it holds the output pipe."""
    await ends_with_its_call(opening, BACKGROUND, "a background child")


@check(2)
async def a_hidden_daemon_ends_with_its_call(opening: Opening) -> None:
    """Two forks, a session of its own, deaf to signals."""
    await ends_with_its_call(opening, HIDDEN, "a hidden daemon")


@check(2)
async def a_respawning_tree_ends_with_its_call(opening: Opening) -> None:
    """Each generation starts the next anew."""
    await ends_with_its_call(opening, RESPAWNING, "a respawning tree")


@check(2)
async def a_hidden_daemon_ends_at_the_limit(opening: Opening) -> None:
    """The same when the call is ended by its wall limit."""
    await ends_with_its_limit(opening, HIDDEN, "a hidden daemon at the limit")


@check(2)
async def a_respawning_tree_ends_at_the_limit(opening: Opening) -> None:
    """The same when the call is ended by its wall limit."""
    await ends_with_its_limit(opening, RESPAWNING, "a respawning tree at the limit")


@check(2)
async def other_calls_run_on(opening: Opening) -> None:
    """The end of one call, by force, does not touch another."""
    async with opening() as session:
        other = asyncio.create_task(python(session, PATIENT))
        await there(session, "waiting")
        short = Limits(wall_seconds=0.7)
        ended = await python(session, HEART + HIDDEN + FOREVER, limits=short)
        await expect_silence(session, "a hidden daemon beside another call")
        promised(not other.done(), "the other call ended with it")
        await session.write_file("go", b"")
        whole = await other
    expect(ended.ending, Ending.TIMED_OUT, "ending of the short call")
    expect((whole.code, whole.stdout.data), (0, b"whole\n"), "the other call")


@check(2)
async def a_program_cannot_end_another_call(opening: Opening) -> None:
    """Though it signals every process that it may."""
    spree = (
        "import os, signal\n"
        "for number in (signal.SIGSTOP, signal.SIGKILL):\n"
        "    try: os.kill(-1, number)\n"
        "    except OSError: pass\n"
    )
    async with opening() as session:
        other = asyncio.create_task(python(session, PATIENT))
        await there(session, "waiting")
        await python(session, spree, limits=Limits(wall_seconds=1))
        await session.write_file("go", b"")
        whole = await other
    expect((whole.ending, whole.stdout.data), (Ending.EXITED, b"whole\n"), "the other call")


@check(2)
async def a_hidden_daemon_ends_with_a_cancelled_call(opening: Opening) -> None:
    """The same when the call's task is cancelled."""
    async with opening() as session:
        call = asyncio.create_task(python(session, HEART + HIDDEN + FOREVER))
        await there(session, "beat")
        call.cancel()
        await asyncio.wait({call}, timeout=LENIENT_SECONDS)
        await expect_silence(session, "a cancelled call")


@check(3)
async def a_sleeping_program_ends_at_its_limit(opening: Opening) -> None:
    """And says so."""
    async with opening() as session:
        with within(0.5 + GRACE_SECONDS, "a call with a limit of 0.5 s"):
            outcome = await run(session, "sleep", "100", limits=Limits(wall_seconds=0.5))
    expect(outcome.ending, Ending.TIMED_OUT, "ending")
    promised(0.45 <= outcome.wall_seconds < 3, "the wall time told is about the limit")


@check(3)
async def a_stopped_program_ends_at_its_limit(opening: Opening) -> None:
    """SIGSTOP does not hold up the end."""
    async with opening() as session:
        with within(0.5 + GRACE_SECONDS, "a stopped program with a limit of 0.5 s"):
            stop = "kill -STOP $$"
            outcome = await run(session, "sh", "-c", stop, limits=Limits(wall_seconds=0.5))
    expect(outcome.ending, Ending.TIMED_OUT, "ending")


@check(3)
async def a_busy_program_ends_at_its_limit(opening: Opening) -> None:
    """Also with many processes that eat the processor."""
    busy = "import os\nfor _ in range(8):\n    if os.fork() == 0: break\nwhile True: pass"
    async with opening() as session:
        with within(1 + GRACE_SECONDS, "a busy program with a limit of 1 s"):
            outcome = await python(session, busy, limits=Limits(wall_seconds=1))
    expect(outcome.ending, Ending.TIMED_OUT, "ending")


@check(3)
async def the_smaller_wall_limit_holds(opening: Opening) -> None:
    """A call cannot have more than its session."""
    async with opening(limits=dataclasses.replace(Limits(), wall_seconds=0.5)) as session:
        with within(0.5 + GRACE_SECONDS, "a session with a limit of 0.5 s"):
            outcome = await run(session, "sleep", "100", limits=Limits(wall_seconds=50))
    expect(outcome.ending, Ending.TIMED_OUT, "ending")


@check(3)
async def a_cancelled_call_ends_and_the_session_goes_on(opening: Opening) -> None:
    """Cancelling the task kills what it started."""
    async with opening() as session:
        call = asyncio.create_task(python(session, HEART + HIDDEN + FOREVER))
        await there(session, "beat")
        call.cancel()
        with within(GRACE_SECONDS, "cancelling a call"):
            done, _ = await asyncio.wait({call}, timeout=10)
        promised(done and call.cancelled(), "a cancelled call raises CancelledError")
        outcome = await run(session, "echo", "on")
    expect(outcome.stdout.data, b"on\n", "the call after a cancelled one")


@check(9)
async def calls_overlap(opening: Opening) -> None:
    """Eight sleepers take the time of one."""
    async with opening() as session:
        await run(session, "true")
        with within(4, "eight calls of one second each"):
            calls = [run(session, "sleep", "1") for _ in range(8)]
            outcomes = await asyncio.gather(*calls)
    expect([outcome.code for outcome in outcomes], [0] * 8, "exit codes of overlapping calls")


@check(9)
async def overlapping_calls_keep_their_output_apart(opening: Opening) -> None:
    """Each gets its own bytes, whole."""
    code = "import sys\nfor _ in range(2000): print(sys.argv[1] * 50)"
    async with opening() as session:
        outcomes = await asyncio.gather(*[python(session, code, str(n)) for n in range(6)])
    seen = [
        outcome.stdout.data == f"{str(n) * 50}\n".encode() * 2000
        for n, outcome in enumerate(outcomes)
    ]
    expect(seen, [True] * 6, "outputs of overlapping calls")
