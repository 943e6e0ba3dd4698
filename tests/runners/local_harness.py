"""A harness in a process of its own, to be killed: opens a session in a local box and is busy."""

from __future__ import annotations

import asyncio
import sys

from policies import Limits, Pipeline, Stage
from runners.bubblewrap import BubblewrapRunner
from runners.contract import SessionSpec
from runners.process import ProcessRunner

HIDDEN = """
import os, signal, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
os.write(1, b"on")
while True: time.sleep(0.01) if os.getpid() % 2 else None
"""

BOXES = {
    "bubblewrap": BubblewrapRunner,
    "process": ProcessRunner,
    "plain-process": lambda: ProcessRunner(namespaces=False),
}


async def main(box: str, what: str, mark: str = "") -> None:
    limits = Limits(wall_seconds=600, processes=32)
    session = await BOXES[box]().open(SessionSpec(run="doomed", limits=limits))
    if what == "idle":
        say("running")
        await asyncio.sleep(600)
    program = {"busy": ("python3", "-c", HIDDEN, mark), "flood": ("yes",)}[what]

    async def announce(stream: str, data: bytes) -> None:
        say("running")
        if what == "flood":
            await asyncio.sleep(600)  # reads no more, so that the supervisor's output is full

    await session.run(Pipeline((Stage(program),)), on_output=announce)


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
