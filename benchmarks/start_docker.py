"""Start and calls of docker sessions, beside what the engine and its SDK take, in one run."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import secrets
import statistics
import time
import tracemalloc
from pathlib import Path

from benchmarks.row import Row
from policies import Limits, Pipeline, Stage
from runners import DockerRunner, Pool, Session, SessionSpec

TRUE = Pipeline((Stage(("/bin/true",)),))
SPEC = SessionSpec(run="benchmark", limits=Limits(memory_mib=128, disk_mib=64))
ROUNDS = 10
CALLS = 50
IDLE = 20


class Raw:
    """Create, attach and start through the same connections, with a program that does nothing."""

    def __init__(self, image: str, image_user: tuple[int, int]) -> None:
        from runners.docker.endpoint import find_endpoint
        from runners.docker.engine import Engine

        self.engine = Engine(find_endpoint(os.environ, Path.home()))
        self.image, self.user = image, image_user

    async def start(self) -> float:
        """Seconds until the engine said that it started."""
        from runners.docker.attach import attach
        from runners.docker.spec import ContainerOptions, container_spec
        from runners.docker.stream import dial

        options = ContainerOptions(self.image, ["cat"], self.user, SPEC.limits)
        version = await self.engine.api_version()
        began = time.perf_counter()
        container, _ = await self.engine.create(
            container_spec(options), f"stockade-raw-{secrets.token_hex(6)}"
        )
        stream = await dial(self.engine.endpoint)
        await attach(stream, version, container)
        await self.engine.start(container)
        took = time.perf_counter() - began
        await stream.close()
        await self.engine.remove(container)
        return took


async def first_answer(runner: DockerRunner | Pool) -> tuple[float, Session]:
    """Seconds from nothing to a session that ran a program."""
    began = time.perf_counter()
    session = await runner.open(SPEC)
    opened = time.perf_counter() - began
    await session.run(TRUE)
    return opened, session


async def cold(runner: DockerRunner, raw: Raw) -> Row:
    """A start beside the engine's own part of it, by turns."""
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(await raw.start())
        took, session = await first_answer(runner)
        ours.append(took)
        await session.close()
    times = statistics.median(ours) / statistics.median(theirs)
    figure = f"{statistics.median(ours) * 1000:.0f} ms, {times:.2f}x"
    return Row(
        "docker: cold start, beside create+attach+start", figure, "at most 1.3x", times <= 1.3
    )


async def pooled(runner: DockerRunner) -> Row:
    """A session that was kept ready."""
    taken = []
    async with Pool(runner, size=2) as pool:
        for _ in range(ROUNDS):
            await pool.warm(SPEC)  # a pool that is full again, and quiet
            took, session = await first_answer(pool)
            taken.append(took)
            await session.close()
    middle = statistics.median(taken) * 1000
    return Row("docker: start from the pool", f"{middle:.1f} ms", "at most 5 ms", middle <= 5)


async def call_beside_exec(runner: DockerRunner) -> Row:
    """`true` in a session, and through the SDK in the same container."""
    import docker

    session = await runner.open(SPEC)
    client = docker.from_env()
    (container,) = client.containers.list(filters={"label": f"stockade.session={session.id}"})
    ours, theirs = [], []
    for number in range(CALLS):
        began = time.perf_counter()
        await session.run(TRUE)
        ours.append(time.perf_counter() - began)
        if number % 5 == 0:
            began = time.perf_counter()
            await asyncio.to_thread(container.exec_run, ["/bin/true"])
            theirs.append(time.perf_counter() - began)
    client.close()
    await session.close()
    times = statistics.median(theirs) / statistics.median(ours)
    figure = f"{statistics.median(ours) * 1000:.2f} ms, {times:.0f}x faster"
    return Row("docker: `true`, beside the SDK's exec_run", figure, "at least 30x", times >= 30)


async def idle(runner: DockerRunner) -> Row:
    """What a session that does nothing costs the harness.

    The larger of two figures: what the process grew by, which leaves out what fits into memory
    that it had before, and what Python allocated, which leaves out what libraries take.
    """
    sessions = [await runner.open(SPEC)]
    tracemalloc.start()
    before = resident(), tracemalloc.get_traced_memory()[0]
    sessions += [await runner.open(SPEC) for _ in range(IDLE)]
    gc.collect()
    after = resident(), tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    each = max(now - then for now, then in zip(after, before, strict=True)) / IDLE / (1 << 20)
    await asyncio.gather(*[session.close() for session in sessions])
    return Row(
        "docker: an idle session in the harness", f"{each:.2f} MiB", "at most 1 MiB", each <= 1
    )


def resident() -> int:
    """Bytes of this process in memory."""
    with Path("/proc/self/statm").open() as file:
        return int(file.read().split()[1]) * resource.getpagesize()


async def measure() -> list[Row]:
    """All of it, on the image that is built."""
    runner = DockerRunner()
    probe = await runner.probe()
    if not probe.ok or "limits tried" not in probe.facts:
        why = probe.reason or "no image is built: stockade images build python"
        return [Row("docker: start", why, "", None)]
    session = await runner.open(SPEC)
    raw = Raw(session.image["id"], (1000, 1000))
    await session.close()
    found = [
        await cold(runner, raw),
        await pooled(runner),
        await call_beside_exec(runner),
        await idle(runner),
    ]
    await raw.engine.close()
    await runner.close()
    return found


def main() -> list[Row]:
    """Rows for the table."""
    return asyncio.run(measure())
