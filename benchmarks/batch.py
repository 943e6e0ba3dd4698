"""A batch of small tasks in docker beside what its containers and its tests take by themselves."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.row import Row
from benchmarks.start_docker import Raw
from harness.batch.boxes import SharedBoxes
from harness.run import BoxOptions, RunOptions, Silence, Stop, make_job, run_job
from policies import Limits, Pipeline, Stage
from runners import DockerRunner, Session, SessionSpec
from runners.workspace import put_folder

TASKS = 40
SIDE_BY_SIDE = 2
ROUNDS = 5
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
    """Seconds of a container's start by the engine alone, and of a test run in a box."""
    session = await runner.open(SessionSpec(run="benchmark", limits=Limits()))
    try:
        raw = Raw(session.image["id"], (1000, 1000))
        starts = [await raw.start() for _ in range(ROUNDS)]
        await raw.engine.close()
        tests = [await test_run(session, folder) for _ in range(ROUNDS)]
    finally:
        await session.close()
    return sum(starts) / ROUNDS, sum(tests) / ROUNDS


async def test_run(session: Session, folder: Path) -> float:
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


async def own_overhead(folder: Path, root: Path, test_seconds: float) -> float:
    """Seconds of a run with sessions that are ready, less what its test takes."""
    took = []
    async with SharedBoxes(2) as boxes:
        for number in range(ROUNDS + 1):
            options = RunOptions(
                BoxOptions(runner="docker"), task=folder, agent="nop", out=root / str(number)
            )
            job = make_job(options)
            await warm(boxes, job)
            began = time.perf_counter()
            job = make_job(options)
            await run_job(job, audience=Silence(), stop=Stop(), chooser=boxes.choose)
            took.append(time.perf_counter() - began)
    return min(took[1:]) - test_seconds


async def warm(boxes: SharedBoxes, job: object) -> None:
    """A pool that is full and quiet."""
    from harness.run.box import Box

    box = await Box.choose(
        job.wish,  # type: ignore[attr-defined]
        job.policy.isolation,  # type: ignore[attr-defined]
        run="benchmark",
        limits=job.limits,  # type: ignore[attr-defined]
        chooser=boxes.choose,
    )
    await (await box.open()).close()
    await asyncio.sleep(4)


async def measure(root: Path) -> list[Row]:
    runner = DockerRunner()
    probe = await runner.probe()
    if not probe.ok or "limits tried" not in probe.facts:
        why = probe.reason or "no image is built: stockade images build python"
        return [Row("batch of 40 in docker", why, "", None)]
    folder = write_task(root / "tasks" / "t00")
    for number in range(1, TASKS):
        write_task(root / "tasks" / f"t{number:02}")
    start, test = await raw_parts(runner, folder)
    took = whole_batch(root / "tasks", root / "batch")
    later_start, later_test = await raw_parts(runner, folder)
    start, test = (start + later_start) / 2, (test + later_test) / 2
    # A task has two boxes: one for the agent, one for the verification.
    alone = TASKS * (2 * start + test) / SIDE_BY_SIDE
    over = await own_overhead(folder, root / "runs", test)
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
