"""A supervisor enters its control group while it starts, and nothing of its box stays outside."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from policies import Pipeline, Stage
from runners.bubblewrap import BubblewrapRunner
from runners.cgroup import Cgroup, hierarchy
from runners.contract import Runner, SessionSpec
from runners.entry import enter
from runners.errors import StartError
from runners.process import ProcessRunner

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or hierarchy() is None, reason="only root makes control groups, where any are"
)

BOXES = [
    pytest.param(BubblewrapRunner, id="bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param(ProcessRunner, id="process"),
    pytest.param(lambda: ProcessRunner(namespaces=False), id="plain-process"),
]
FORKER = "import os, time; os.fork(); os.fork(); print(flush=True); time.sleep(60)"


def groups_of(pid: int) -> set[str]:
    """The last part of each control group that a process is in."""
    where = hierarchy()
    wanted = ("",) if where is not None and where.version == 2 else ("memory", "pids")
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    named = [line.split(":") for line in lines]
    return {Path(path).name for _, name, path in named if name in wanted}


@pytest.mark.parametrize("make", BOXES)
async def test_every_process_of_a_box_is_in_its_group(make: Callable[[], Runner]) -> None:
    session = await make().open(SessionSpec(run="entry"))
    try:
        outcome = await session.run(Pipeline((Stage(("id", "-u")),)))
        assert outcome.ok
        ours = [child.pid for child in psutil.Process().children(recursive=True)]
        supervisor, *others = [groups_of(pid) for pid in ours]
        assert others
        assert all(names == supervisor for names in others)
        assert [name.isdigit() for name in supervisor] == [True]  # its name is the session's uid
    finally:
        await session.close()


@pytest.mark.parametrize("make", BOXES)
async def test_a_box_that_runs_out_of_memory_loses_a_slot_first(
    make: Callable[[], Runner],
) -> None:
    session = await make().open(SessionSpec(run="entry"))
    try:
        assert (await session.run(Pipeline((Stage(("true",)),)))).ok
        ours = psutil.Process().children(recursive=True)
        scores = {Path(f"/proc/{one.pid}/oom_score_adj").read_text().strip() for one in ours}
        assert scores == {"0", "1000"}
    finally:
        await session.close()


async def test_who_was_started_before_the_move_is_moved_too() -> None:
    group = Cgroup.make(f"entry-{os.getpid()}", 64, 16)
    assert group is not None
    process = subprocess.Popen([sys.executable, "-c", FORKER], stdout=subprocess.PIPE)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(4)]
    family = psutil.Process(process.pid)
    try:
        await enter(group, process.pid)
        everybody = {process.pid, *(child.pid for child in family.children(recursive=True))}
        entered = set(map(int, Path(group.entries[0]).read_text().split()))
        assert (len(lines), entered) == (4, everybody)
    finally:
        for one in (*family.children(recursive=True), family):
            one.kill()
        process.wait()
        process.stdout.close()
        group.remove()


async def test_a_process_that_is_gone_cannot_enter() -> None:
    group = Cgroup.make(f"entry-{os.getpid()}", 64, 16)
    assert group is not None
    process = subprocess.Popen(["true"])
    process.wait()
    try:
        with pytest.raises(StartError, match="control group"):
            await enter(group, process.pid)
    finally:
        group.remove()
