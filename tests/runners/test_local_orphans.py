"""A harness is killed in the middle of a call: of its local boxes nothing lives on."""

from __future__ import annotations

import subprocess
import sys
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
