"""A harness in a process of its own, to be killed: open a session and do what the argument says."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from policies import Limits, Pipeline, Stage
from runners.contract import SessionSpec
from runners.docker import DockerRunner
from runners.docker.proof import Proofs

STUBBORN = """
import os, signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        os.write(1, b"on")
while True:
    pass
"""


async def main(image: str, run: str, proofs: str, what: str) -> None:
    runner = DockerRunner(image=image, proofs=Proofs(Path(proofs)))
    await runner.probe()
    limits = Limits(wall_seconds=600, memory_mib=64, disk_mib=32, processes=32)
    say("starting")
    session = await runner.open(SessionSpec(run=run, image=image, limits=limits))
    say("open")
    if what == "idle":
        await asyncio.sleep(600)
    program = {
        "busy": ("python3", "-c", STUBBORN),
        "flood": ("yes",),
        "stop": ("bash", "-c", "echo on; kill -STOP -1; kill -STOP $$"),
    }[what]

    async def announce(stream: str, data: bytes) -> None:
        say("running")

    await session.run(Pipeline((Stage(program),)), on_output=announce)


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
