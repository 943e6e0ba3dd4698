"""A batch of small tasks in docker beside what its containers and its tests take by themselves.

The raw part is the sum of two container starts (create, attach, start) and one test run for each
task, each measured alone on a quiet machine, divided by two. It leaves out what any tool does
besides: removing the containers, copying files in and out, and that two starts at once are slower
than half of each. How much that is says the row `by hand`: the same containers and tests, two at
a time, by nothing but the engine's SDK.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from benchmarks.row import Row
from benchmarks.start_docker import Raw
from harness.run import BoxOptions, RunOptions, Silence, Stop, make_job, run_job
from policies import Limits, Pipeline, Stage
from runners import DockerRunner, Pool, Probe, Session, SessionSpec
from runners.workspace import put_folder

TASKS = 40
SIDE_BY_SIDE = 2
ROUNDS = 5
SPEC = SessionSpec(run="benchmark", limits=Limits())
FILE = """\
schema_version = "1.4"
[environment]
network_mode = "no-network"
[metadata.stockade]
policy = "python-dev"
image = "python"
workspace = "environment/workspace"
[metadata.stockade.verify]
argv = ["python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "$STOCKADE_TESTS"]
tests = ["test_it.py::test_it"]
"""
TEST = ("python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "/tests")


def write_task(folder: Path) -> Path:
    files = {
        "task.toml": FILE,
        "instruction.md": "Mend it.\n",
        "environment/workspace/it.py": "VALUE = 1\n",
        "tests/test_it.py": "from it import VALUE\n\n\ndef test_it():\n    assert VALUE == 2\n",
        "solution/solve.sh": "#!/bin/bash\nsed -i 's/1/2/' it.py\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


async def raw_parts(runner: DockerRunner, folder: Path) -> tuple[float, float]:
    """Seconds of a container's start by the engine alone, and of a test run in a fresh box."""
    session = await runner.open(SPEC)
    raw = Raw(session.image["id"], (1000, 1000))
    await session.close()
    starts = [await raw.start() for _ in range(ROUNDS)]
    await raw.engine.close()
    tests = [await fresh_test(runner, folder) for _ in range(ROUNDS)]
    return sum(starts) / ROUNDS, sum(tests) / ROUNDS


async def fresh_test(runner: DockerRunner, folder: Path) -> float:
    """Seconds of a test run that is the first in its box, as every run of a batch is."""
    session = await runner.open(SPEC)
    try:
        return await test_run(session, folder)
    finally:
        await session.close()


async def test_run(session: Session, folder: Path) -> float:
    """Seconds of the test command, with all files in place."""
    await put_folder(session, folder / "tests", root="tests")
    await put_folder(session, folder / "environment" / "workspace", root="workspace")
    began = time.perf_counter()
    outcome = await session.run(Pipeline((Stage(TEST),)), env={"PYTHONPATH": "/workspace"})
    assert outcome.code == 1, outcome
    return time.perf_counter() - began


def whole_batch(tasks: Path, out: Path) -> float:
    """Seconds of the command, its own start included."""
    code = "from harness.cli import main; main()"
    argv = [sys.executable, "-c", code, "batch", str(tasks), "--agent", "oracle"]
    argv += ["--runner", "docker", "-j", str(SIDE_BY_SIDE), "--out", str(out), "--json"]
    began = time.perf_counter()
    done = subprocess.run(argv, capture_output=True, check=False, text=True)
    took = time.perf_counter() - began
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout)["passed"] == TASKS
    return took


class Prepared:
    """A warm pool that is not filled again, and whose sessions are closed afterwards."""

    name = "docker"

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.given: list[Session] = []

    async def probe(self) -> Probe:
        return await self.pool.probe()

    async def sweep(self) -> Sequence[str]:
        return ()

    async def warm(self, spec: SessionSpec, size: int) -> None:
        self.pool.keep(size)
        await self.pool.warm(spec)
        self.pool.keep(0)

    async def open(self, spec: SessionSpec) -> Session:
        self.given.append(await self.pool.open(spec))
        return ClosedLater(self.given[-1])  # type: ignore[return-value]

    async def clear(self) -> None:
        while self.given:
            await self.given.pop().close()


class ClosedLater:
    """The session, but for its close."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def __getattr__(self, name: str) -> object:
        return getattr(self.session, name)

    async def close(self) -> None:
        return


async def own_overhead(runner: DockerRunner, folder: Path, root: Path) -> float:
    """Seconds of a run beside those of its test, by turns, each in fresh sessions.

    The engine is quiet meanwhile: what it does to fill a pool and to remove containers is its own
    work, and part of the whole batch.
    """
    ours, theirs = [], []
    async with Pool(runner) as pool:
        box = Prepared(pool)

        async def choose(*_: object) -> Prepared:
            return box

        for number in range(ROUNDS + 1):
            options = RunOptions(
                BoxOptions(runner="docker"), task=folder, agent="nop", out=root / str(number)
            )
            wish = make_job(options)
            spec = replace(SPEC, limits=wish.limits, env=wish.task.env, image=wish.wish.image)
            await box.warm(spec, 3)
            theirs.append(await test_run(await box.open(spec), folder))
            began = time.perf_counter()
            await run_job(make_job(options), audience=Silence(), stop=Stop(), chooser=choose)
            ours.append(time.perf_counter() - began)
            await box.clear()
    return statistics.median(ours[1:]) - statistics.median(theirs[1:])


def by_hand(image: str, folder: Path) -> float:
    """Seconds of as many containers and test runs, two at a time, without a harness."""
    import docker

    client = docker.from_env()
    archives = [packed(folder / "tests", "tests"), packed(folder / "environment/workspace", "w")]

    def task(_: int) -> None:
        for words, files in ((["true"], []), ([*TEST], archives)):
            made = client.containers.create(
                image, words, user="1000:1000", network_mode="none", mem_limit="1536m",
                environment={"PYTHONPATH": "/w", "PYTHONDONTWRITEBYTECODE": "1"},
            )  # fmt: skip
            for archive in files:
                made.put_archive("/", archive)
            made.start()
            made.wait()
            made.remove(force=True)

    began = time.perf_counter()
    with ThreadPoolExecutor(SIDE_BY_SIDE) as hands:
        list(hands.map(task, range(TASKS)))
    took = time.perf_counter() - began
    client.close()
    return took


def packed(folder: Path, name: str) -> bytes:
    """A folder as an archive."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        tar.add(folder, name)
    return made.getvalue()


async def measure(root: Path) -> list[Row]:
    runner = DockerRunner()
    probe = await runner.probe()
    if not probe.ok or "limits tried" not in probe.facts:
        why = probe.reason or "no image is built: stockade images build python"
        return [Row("batch of 40 in docker", why, "", None)]
    folder = write_task(root / "tasks" / "t00")
    for number in range(1, TASKS):
        write_task(root / "tasks" / f"t{number:02}")
    session = await runner.open(SPEC)
    image = session.image["id"]
    await session.close()
    start, test = await raw_parts(runner, folder)
    hands = by_hand(image, folder)
    took = whole_batch(root / "tasks", root / "batch")
    later_start, later_test = await raw_parts(runner, folder)
    start, test = (start + later_start) / 2, (test + later_test) / 2
    # A task has two boxes: one for the agent, one for the verification.
    alone = TASKS * (2 * start + test) / SIDE_BY_SIDE
    over = await own_overhead(runner, folder, root / "runs")
    await runner.close()
    times = took / alone
    return [
        Row(
            f"batch of {TASKS} in docker, -j {SIDE_BY_SIDE}, beside its starts and tests",
            f"{took:.1f} s, {times:.2f}x",
            "at most 1.25x",
            times <= 1.25,
        ),
        Row(
            "the same by hand",
            f"{hands:.1f} s, {hands / alone:.2f}x",
            f"{took / hands:.2f}x for the batch",
            None,
        ),
        Row(
            "harness a task, sessions ready",
            f"{over * 1000:.0f} ms",
            "at most 50 ms",
            over <= 0.05,
        ),
    ]


def main() -> list[Row]:
    """Rows for the table."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        return asyncio.run(measure(Path(folder)))
