"""Start of a session in the local boxes, beside a bare interpreter, interleaved in one run.

    python benchmarks/start_local.py [ROUNDS]

Targets: bubblewrap at most 3x and process at most 2x a bare `python3 -I -S -c pass`.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

from policies import Pipeline, Stage
from runners.bubblewrap import BubblewrapRunner
from runners.contract import Runner, SessionSpec
from runners.process import ProcessRunner

PYTHON = "/usr/bin/python3"
TARGETS = {"bubblewrap": 3.0, "process": 2.0, "process, plain": 2.0}


async def bare() -> float:
    """An interpreter that does nothing."""
    start = time.perf_counter()
    subprocess.run([PYTHON, "-I", "-S", "-c", "pass"], check=True, env={})
    return time.perf_counter() - start


def opening(runner: Runner) -> Callable[[], Awaitable[float]]:
    """From nothing to a session that has answered."""

    async def measure() -> float:
        start = time.perf_counter()
        session = await runner.open(SessionSpec(run="bench"))
        took = time.perf_counter() - start
        await session.run(Pipeline((Stage(("true",)),)))
        await session.close()
        return took

    return measure


async def main(rounds: int) -> None:
    boxes: dict[str, Runner] = {
        "bubblewrap": BubblewrapRunner(),
        "process": ProcessRunner(),
        "process, plain": ProcessRunner(namespaces=False),
    }
    work: dict[str, Callable[[], Awaitable[float]]] = {"bare python": bare}
    for name, runner in boxes.items():
        probe = await runner.probe()
        if probe.ok:
            work[name] = opening(runner)
        else:
            print(f"{name}: left out, {probe.reason}")
    taken: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, measure in work.items():
            taken[name].append(await measure() * 1000)
    base = taken["bare python"]
    print(f"{'':16}{'min ms':>9}{'median':>9}{'x min':>8}{'x median':>10}{'target':>9}")
    for name, values in taken.items():
        least, middle = min(values), statistics.median(values)
        times = least / min(base), middle / statistics.median(base)
        target = f"{TARGETS[name]:g}x" if name in TARGETS else ""
        print(f"{name:16}{least:9.1f}{middle:9.1f}{times[0]:8.2f}{times[1]:10.2f}{target:>9}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
