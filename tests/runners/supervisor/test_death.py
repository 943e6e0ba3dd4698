"""When the harness goes, the box goes; when the box goes, everybody who waits is told."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest

from runners import LostError, StartError
from runners.channel import PipeChannel
from runners.client import connect
from runners.supervisor import payload

from .conftest import PYTHON, UID, one, python, shell

HARNESS = """
import asyncio, sys
from policies import Isolation, Limits, Pipeline, Stage
from runners.channel import PipeChannel
from runners.client import connect
from runners.setup import Setup
from runners.supervisor import payload

async def main():
    uid = int(sys.argv[3]) if sys.argv[3] else None
    setup = Setup(
        roots={"workspace": sys.argv[1]}, limits=Limits(wall_seconds=60), uid=uid,
        alone=uid is not None, env=(("PATH", "/usr/bin:/bin"), ("MARK", sys.argv[2])),
    )
    channel = await PipeChannel.start(payload().argv("/usr/bin/python3"))
    session = await connect(channel, setup, id="x", isolation=Isolation.PROCESS, image={})
    await session.run(Pipeline((Stage(("python3", "-c", sys.argv[4])),)))

asyncio.run(main())
"""

HIDE = """
import os, signal, time
for number in (1, 2, 13, 15): signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    os.fork()
time.sleep(100)
"""
FLOOD = "import os\nos.fork()\nwhile True: os.write(1, bytes(65536))"


async def gone(place, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while place.alive():
        if time.monotonic() > until:
            return False
        await asyncio.sleep(0.01)
    return True


@pytest.mark.parametrize("code", [HIDE, FLOOD], ids=["hiding", "flood"])
async def test_nothing_outlives_a_killed_harness(place, code):
    argv = [sys.executable, "-c", HARNESS, str(place.workspace), place.mark, str(UID or ""), code]
    harness = subprocess.Popen(argv)
    while len(place.alive()) < 2:
        assert harness.poll() is None
        await asyncio.sleep(0.01)
    harness.send_signal(signal.SIGKILL)
    harness.wait()
    assert await gone(place, 3)


async def test_closing_leaves_nothing_and_may_be_repeated(open_session, place):
    session = await open_session()
    running = asyncio.create_task(session.run(python(HIDE)))
    while len(place.alive()) < 2:
        await asyncio.sleep(0.01)
    await asyncio.gather(session.close(), session.close())
    await session.close()
    assert place.alive() == []
    with pytest.raises(LostError):
        await running
    with pytest.raises(LostError, match="the session is closed"):
        await session.run(one("true"))


async def test_everybody_who_waits_hears_that_the_box_ended(open_session):
    session = await open_session()
    calls = [asyncio.create_task(session.run(one("sleep", "100"))) for _ in range(3)]
    await session.ping()
    os.kill(session.facts["pid"], signal.SIGKILL)
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [LostError] * 3
    with pytest.raises(LostError):
        await session.ping()


async def test_a_silent_harness_loses_its_box(open_session, place):
    session = await open_session(lease_seconds=1.0)
    session._link._tasks[-1].cancel()  # the heartbeat
    with pytest.raises(LostError):
        await session.run(one("sleep", "100"))
    assert await gone(place, 1)


async def test_the_heartbeat_keeps_the_box(open_session):
    session = await open_session(lease_seconds=1.0)
    assert (await session.run(shell("sleep 2.5"))).ok


async def test_on_close_is_called_once(place):
    times: list[str] = []

    async def on_close() -> None:
        times.append("closed")

    channel = await PipeChannel.start(payload().argv(PYTHON))
    session = await connect(
        channel, place.setup(), id="x", isolation=0, image={}, on_close=on_close
    )
    await session.close()
    await session.close()
    assert times == ["closed"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["/bin/false"], "did not start"),
        (["/bin/sh", "-c", "echo no such box >&2; exit 1"], "no such box"),
        ([PYTHON, "-c", "print('hello')"], "did not start"),
    ],
)
async def test_a_box_without_a_supervisor_is_a_start_error(place, argv, words):
    channel = await PipeChannel.start(argv)
    with pytest.raises(StartError, match=words):
        await connect(channel, place.setup(), id="x", isolation=0, image={})


async def test_a_box_that_says_nothing_is_given_up(place):
    channel = await PipeChannel.start(["/bin/sleep", "100"])
    with pytest.raises(StartError, match=r"within 0\.2 seconds"):
        await connect(channel, place.setup(), id="x", isolation=0, image={}, start_seconds=0.2)


async def test_a_root_that_does_not_exist_is_a_start_error(open_session, place):
    place.workspace.rmdir()
    with pytest.raises(StartError, match="No such file"):
        await open_session()
    place.workspace.mkdir()
