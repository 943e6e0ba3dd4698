"""A harness is killed in the middle of a call: of its local boxes nothing lives on."""

from __future__ import annotations

import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from runners.process import ProcessRunner

BOXES = ("bubblewrap", "process", "plain-process")
PROMISED_SECONDS = 3


@pytest.fixture
def harness(request: pytest.FixtureRequest) -> Iterator[tuple[subprocess.Popen[str], list]]:
    """A busy harness and all the processes below it."""
    box, what = request.param
    script = Path(__file__).with_name("local_harness.py")
    argv = [sys.executable, str(script), box, what]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "running\n"
            below = psutil.Process(process.pid).children(recursive=True)
            assert below
            yield process, below
        finally:
            process.kill()


def case(box: str, what: str):
    marks = pytest.mark.bubblewrap if box == "bubblewrap" else ()
    return pytest.param((box, what), marks=marks, id=f"{box}-{what}")


CASES = [case(box, what) for box in BOXES for what in ("idle", "busy", "flood")]


@pytest.mark.parametrize("harness", CASES, indirect=True)
async def test_nothing_of_a_killed_harness_lives_three_seconds_later(
    harness: tuple[subprocess.Popen[str], list],
) -> None:
    process, below = harness
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(below, timeout=PROMISED_SECONDS)
    assert alive == []


@pytest.mark.parametrize("harness", [pytest.param(("plain-process", "busy"), id="")], indirect=True)
async def test_the_next_start_removes_the_folder_of_a_killed_harness(
    harness: tuple[subprocess.Popen[str], list],
) -> None:
    process, below = harness
    process.kill()
    process.wait()
    psutil.wait_procs(below, timeout=PROMISED_SECONDS)
    swept = await ProcessRunner().sweep()
    assert any("doomed" in item for item in swept)
    assert not any("doomed" in item for item in await ProcessRunner().sweep())


@pytest.mark.parametrize("harness", [pytest.param(("plain-process", "idle"), id="")], indirect=True)
async def test_a_sweep_leaves_a_living_harness_alone(
    harness: tuple[subprocess.Popen[str], list],
) -> None:
    _, below = harness
    swept = await ProcessRunner().sweep()
    assert not any("doomed" in item for item in swept)
    assert all(process.is_running() for process in below)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("box", [pytest.param(box, marks=case(box, "busy").marks) for box in BOXES])
async def test_a_harness_killed_at_any_moment_leaves_no_process_and_then_nothing(box: str) -> None:
    chance = random.Random(box)  # any moments will do, the same ones each time
    script = Path(__file__).with_name("local_harness.py")
    for _ in range(50):
        mark = secrets.token_hex(8)
        argv = [sys.executable, str(script), box, "busy", mark]
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as process:
            time.sleep(chance.uniform(0.1, 1.2))
            os.kill(process.pid, signal.SIGSTOP)  # nothing is born between the look and the end
            below = psutil.Process(process.pid).children(recursive=True)
            process.kill()
        _, alive = psutil.wait_procs(below, timeout=PROMISED_SECONDS)
        assert (alive, marked(mark)) == ([], [])
    await ProcessRunner().sweep()
    assert not any("doomed" in item for item in await ProcessRunner().sweep())


def marked(mark: str) -> list[int]:
    """Processes, anywhere on the machine, that have the mark among their arguments."""
    found = []
    for process in psutil.process_iter():
        try:
            if mark in process.cmdline():
                found.append(process.pid)
        except psutil.Error:
            continue
    return found
