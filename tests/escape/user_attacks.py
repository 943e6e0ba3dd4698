"""Run as a user who is not root: attacks in one local box; prints what came of each as JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path

from policies import Limits, Pipeline, Stage
from runners.bubblewrap import BubblewrapRunner
from runners.contract import Session, SessionSpec
from runners.process import ProcessRunner

BOXES = {
    "bubblewrap": BubblewrapRunner,
    "process": ProcessRunner,
    "plain-process": lambda: ProcessRunner(namespaces=False),
}
LIMITS = Limits(memory_mib=128, disk_mib=64, wall_seconds=10, processes=64)
BOMB = "import os\nwhile True:\n try: os.fork()\n except OSError: pass"
INODES = "import os\nn = 0\nwhile True: os.close(os.open(f'i{n}', os.O_CREAT)); n += 1"


async def attack(session: Session, *argv: str, wall: float = 10) -> str:
    limits = replace(LIMITS, wall_seconds=wall)
    outcome = await session.run(Pipeline((Stage(argv),)), limits=limits)
    said = outcome.limit or outcome.ending.value
    return f"open {line}" if (line := opened(outcome.stdout.text())) else said


def opened(text: str) -> str:
    return " ".join(line for line in text.splitlines() if line.endswith(" open"))


async def main(box: str, folder: str) -> dict[str, str]:
    runner = BOXES[box]()
    probe = await runner.probe()
    if not probe.ok:
        return {"missing": probe.reason}
    session = await runner.open(SessionSpec(run="user", limits=LIMITS))
    said = {}
    try:
        for name in ("doors", "starve", "ring", "memory"):
            await session.write_file(name, Path(folder, name).read_bytes(), mode=0o755)
        said["doors"] = await attack(session, "./doors")
        said["starve"] = await attack(session, "./starve", wall=1)
        said["ring"] = await attack(session, "./ring", "32", "reaper")
        said["bomb"] = await attack(session, "python3", "-c", BOMB, wall=1)
        for kind in ("memfd", "shared", "sysv", "semaphores"):
            said[kind] = await attack(session, "./memory", kind, "1024")
        if box == "bubblewrap":
            said["inodes"] = await attack(session, "python3", "-c", INODES)
        said["after"] = await attack(session, "true")
    finally:
        await session.close()
    return said


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(*sys.argv[1:]))))
