"""One call in a session beside a captured subprocess on the host, interleaved in one run."""

from __future__ import annotations

import asyncio
import resource
import statistics
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.row import Row
from policies import Limits, Pipeline, Stage
from runners import Runner, Session, SessionSpec, UnavailableError

TRUE = Pipeline((Stage(("/bin/true",)),))
ROUNDS = 300
SEVERAL = 8
GIB = 1 << 30
TARGETS = {"process": 1.5, "bubblewrap": 1.6, "docker": 1.6}


def runner(name: str) -> Runner:
    """The box of this name."""
    if name == "process":
        from runners.process import ProcessRunner

        return ProcessRunner()
    if name == "bubblewrap":
        from runners.bubblewrap import BubblewrapRunner

        return BubblewrapRunner()
    from runners.docker import DockerRunner

    return DockerRunner()


@asynccontextmanager
async def session(name: str) -> AsyncIterator[Session]:
    """A session in a box, closed at the end."""
    opened = await runner(name).open(SessionSpec(run="benchmark", limits=Limits(wall_seconds=300)))
    try:
        yield opened
    finally:
        await opened.close()


def resident() -> int:
    """Bytes of this process in memory."""
    with Path("/proc/self/statm").open() as file:
        return int(file.read().split()[1]) * resource.getpagesize()


async def true_beside_subprocess(box: Session, name: str) -> Row:
    """The same program in the box and on the host, by turns."""
    ours, theirs = [], []
    for _ in range(20):
        await box.run(TRUE)
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await box.run(TRUE)
        middle = time.perf_counter()
        subprocess.run(["/bin/true"], capture_output=True, check=False)
        ours.append(middle - began)
        theirs.append(time.perf_counter() - middle)
    # The lower quartile: the upper half measures who else uses the machine.
    here, there = statistics.quantiles(ours, n=4)[0], statistics.quantiles(theirs, n=4)[0]
    ratio = here / there
    figure = (
        f"{ratio:.2f}x ({here * 1e3:.2f} ms to {there * 1e3:.2f} ms; least {min(ours) * 1e3:.2f})"
    )
    target = TARGETS[name]
    return Row(f"true in {name}, captured subprocess = 1", figure, f"<= {target}x", ratio <= target)


async def overlap(box: Session, name: str) -> Row:
    """Several calls at the same time beside one."""
    nap = Pipeline((Stage(("sleep", "0.1")),))
    await asyncio.gather(*[box.run(nap) for _ in range(SEVERAL)])
    began = time.perf_counter()
    await box.run(nap)
    one = time.perf_counter() - began
    began = time.perf_counter()
    await asyncio.gather(*[box.run(nap) for _ in range(SEVERAL)])
    ratio = (time.perf_counter() - began) / one
    return Row(f"{SEVERAL} calls of 100 ms at once in {name}", f"{ratio:.2f}x", "< 2x", ratio < 2)


async def flood(box: Session, name: str) -> Row:
    """A gibibyte of output that nobody wants to keep."""
    before = resident()
    began = time.perf_counter()
    outcome = await box.run(Pipeline((Stage(("head", "-c", str(GIB), "/dev/zero")),)))
    seconds = time.perf_counter() - began
    assert outcome.stdout.total == GIB
    grown = (resident() - before) / (1 << 20)
    figure = f"+{grown:.1f} MiB in the harness, {seconds:.1f} s"
    return Row(f"1 GiB of output in {name}", figure, "<= 8 MiB", grown <= 8)


async def measure(name: str) -> list[Row]:
    """All figures of one box."""
    try:
        async with session(name) as box:
            return [await figure(box, name) for figure in (true_beside_subprocess, overlap, flood)]
    except UnavailableError as error:
        return [Row(f"true in {name}", str(error), f"<= {TARGETS[name]}x", None)]


def main() -> list[Row]:
    """Every box of this machine."""
    return [row for name in TARGETS for row in asyncio.run(measure(name))]
