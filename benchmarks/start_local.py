"""Start of a session in the local boxes, beside a bare interpreter, interleaved in one run."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable

from benchmarks.row import Row
from runners import BubblewrapRunner, ProcessRunner, Runner, SessionSpec

PYTHON = "/usr/bin/python3"
ROUNDS = 20
TARGETS = {"bubblewrap": 3.0, "process": 2.0, "process without namespaces": 2.0}


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
        taken = time.perf_counter() - start
        await session.close()
        return taken

    return measure


async def measure() -> list[Row]:
    boxes: dict[str, Runner] = {
        "bubblewrap": BubblewrapRunner(),
        "process": ProcessRunner(),
        "process without namespaces": ProcessRunner(namespaces=False),
    }
    rows: list[Row] = []
    work: dict[str, Callable[[], Awaitable[float]]] = {"bare": bare}
    for name, runner in boxes.items():
        probe = await runner.probe()
        if probe.ok:
            work[name] = opening(runner)
        else:
            rows.append(Row(f"start, {name}", probe.reason, f"{TARGETS[name]:g}x", None))
    taken: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(ROUNDS):
        for name, act in work.items():
            taken[name].append(await act())
    base = statistics.median(taken.pop("bare"))
    for name, values in taken.items():
        middle = statistics.median(values)
        least = min(values)
        figure = f"{middle / base:.2f}x a bare python ({middle:.3f} s, {least:.3f} at least)"
        target = TARGETS[name]
        rows.append(Row(f"start, {name}", figure, f"{target:g}x", middle / base <= target))
    return rows


def main() -> list[Row]:
    return asyncio.run(measure())
