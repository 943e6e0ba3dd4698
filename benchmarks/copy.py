"""10,000 files into a box and back on a memory file system, beside `tar | tar` in the same run."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.row import Row
from policies import Limits
from runners import (
    BubblewrapRunner,
    DockerRunner,
    ProcessRunner,
    Runner,
    RunnerError,
    SessionSpec,
)
from runners.workspace import copy_in, copy_out

FOLDERS, FILES, SIZE = 100, 100, 4900
ROUNDS = 3
MEMORY = Path("/dev/shm")


def fill(folder: Path) -> Path:
    for outer in range(FOLDERS):
        (folder / f"d{outer}").mkdir(parents=True)
        for inner in range(FILES):
            (folder / f"d{outer}" / f"f{inner}").write_bytes(b"%08d" % inner * (SIZE // 8))
    return folder


def seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def tar_tar(source: Path, scratch: Path) -> float:
    """`tar | tar` into a new folder."""
    target = scratch / "tar"
    target.mkdir()
    pipe = 'tar -C "$1" -cf - . | tar -C "$2" -xf -'
    taken = seconds(
        lambda: subprocess.run(["sh", "-c", pipe, "sh", str(source), str(target)], check=True)
    )
    shutil.rmtree(target)
    return taken


def tar_docker(source: Path) -> float:
    """`tar | docker exec -i tar` into a memory file system of a container."""
    start = ["docker", "run", "-d", "--rm", "--user=0", "--network=none", "--tmpfs=/w:size=256m"]
    made = subprocess.run(
        [*start, "--entrypoint=sleep", docker_image(), "60"],
        check=True,
        capture_output=True,
        text=True,
    )
    box = made.stdout.strip()
    pipe = 'tar -C "$1" -cf - . | docker exec -i "$2" tar -C /w -xf -'
    try:
        return seconds(
            lambda: subprocess.run(["sh", "-c", pipe, "sh", str(source), box], check=True)
        )
    finally:
        subprocess.run(["docker", "kill", box], check=True, capture_output=True)


def docker_image() -> str:
    from sandbox_images import find

    image = find("python")
    if image is None or image.docker_id is None:
        raise RunnerError("there is no Docker image: run `stockade images build python`")
    return image.docker_id


async def in_and_out(runner: Runner, source: Path, scratch: Path) -> tuple[float, float]:
    """Copy in and copy out through a fresh session."""
    spec = SessionSpec(run="benchmark", limits=Limits(memory_mib=512, disk_mib=512))
    session = await runner.open(spec)
    try:
        begin = time.perf_counter()
        copied = await copy_in(session, source, archive=scratch / "in.tar")
        middle = time.perf_counter()
        await copy_out(session, copied, scratch / "out")
        end = time.perf_counter()
    finally:
        await session.close()
        shutil.rmtree(scratch / "out", ignore_errors=True)
    return middle - begin, end - middle


async def measure(runner: Runner, source: Path, scratch: Path) -> tuple[float, float, float]:
    """The best of some rounds, ours and theirs in turn: in, out, and what they are held against."""
    best = (float("inf"),) * 3
    for _ in range(ROUNDS):
        other = tar_docker(source) if runner.name == "docker" else tar_tar(source, scratch)
        into, out = await in_and_out(runner, source, scratch)
        best = (min(best[0], into), min(best[1], out), min(best[2], other))
    return best


def rows_for(runner: Runner, source: Path, scratch: Path) -> list[Row]:
    target = 0.7 if runner.name == "docker" else 0.4
    other = "tar | docker exec -i tar" if runner.name == "docker" else "tar | tar"
    name = f"copy in 10,000 files, {runner.name}, against {other}"
    try:
        into, out, reference = asyncio.run(measure(runner, source, scratch))
    except (RunnerError, OSError, subprocess.CalledProcessError) as error:
        return [Row(name, str(error)[:60], f">= {target}x", None)]
    speed = reference / into
    figure = f"{speed:.2f}x ({into * 1000:.0f} ms, {reference * 1000:.0f} ms)"
    return [
        Row(name, figure, f">= {target}x", speed >= target),
        Row(f"copy out with patch, {runner.name}", f"{out * 1000:.0f} ms", "-", None),
    ]


def main() -> list[Row]:
    memory = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory, prefix="stockade-bench-") as folder:
        scratch = Path(folder)
        source = fill(scratch / "source")
        runners: list[Runner] = [ProcessRunner(), BubblewrapRunner(), DockerRunner()]
        return [row for runner in runners for row in rows_for(runner, source, scratch)]
