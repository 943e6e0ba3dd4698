"""Killed at any moment, in any box, and killed again while it is taken up: it passes in the end."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Done, Stockade

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def run_words(demo: Path, box: str = "bubblewrap") -> tuple[str, ...]:
    """The demo in a box."""
    script = f"scripted:{demo / 'script.json'}"
    return ("run", str(demo), "--model", script, "--runner", box)


def kill_at_record(stockade: Stockade, wanted: int, *words: str) -> Path:
    """Start a command and kill it when the log holds so many records, or after its end."""
    process = stockade.start(*words)
    runs = stockade.state / "stockade" / "runs"
    while process.poll() is None:
        logs = list(runs.glob("*/events.jsonl"))
        if logs and logs[0].read_bytes().count(b"\n") >= wanted:
            break
        time.sleep(0.002)
    process.kill()
    process.wait()
    (log,) = runs.glob("*/events.jsonl")
    return log.parent


def is_whole(stockade: Stockade, folder: Path) -> None:
    """Everything of a run that passed is there, and nothing of the work on it is left."""
    result = json.loads((folder / "result.json").read_text())
    there = {path.name for path in folder.iterdir()}
    assert (result["status"], result["verdict"], result["denials"]) == ("completed", "passed", 1)
    assert there >= {"events.jsonl", "lock.json", "patch.diff", "report.html"}
    assert "scratch" not in there
    assert stockade("runs", "verify", folder).code == 0


def survives(stockade: Stockade, words: tuple[str, ...], seed: int) -> None:
    """Kill a run, and what takes it up, at moments that a number chooses."""
    chance = random.Random(seed)
    wanted, more, delay = chance.randint(1, 80), chance.randint(0, 20), chance.uniform(0, 1.0)
    moment = f"killed at record {wanted}, then {more} records and {delay:.3f} s later"
    folder = kill_at_record(stockade, wanted, *words)
    process = stockade.start("runs", "resume", str(folder), "--rerun-unknown")
    records = (folder / "events.jsonl").read_bytes().count(b"\n") + more
    while process.poll() is None:
        if (folder / "events.jsonl").read_bytes().count(b"\n") >= records:
            break
        time.sleep(0.002)
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    done = stockade("runs", "resume", folder, "--rerun-unknown")
    if not (done.code == 2 and "the run has ended (completed)" in done.err):
        assert done.code == 0, f"{moment}: {done.err}"
    is_whole(stockade, folder)


@pytest.mark.bubblewrap
@pytest.mark.parametrize("seed", range(30))
def test_a_run_and_its_resumption_killed_at_random_end_in_a_pass(
    stockade: Stockade, demo: Path, seed: int
) -> None:
    survives(stockade, run_words(demo), seed)


@pytest.mark.parametrize("seed", [100, 101, 102])
@pytest.mark.parametrize("box", [pytest.param("docker", marks=pytest.mark.docker), "process"])
def test_so_it_does_in_the_other_boxes(stockade: Stockade, demo: Path, box: str, seed: int) -> None:
    survives(stockade, run_words(demo, box), seed)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory, demo: Path) -> Iterator[Path]:
    """The state folder that a killed run left."""
    stockade = Stockade(tmp_path_factory.mktemp("killed"))
    kill_at_record(stockade, 50, *run_words(demo))
    yield stockade.state
    stockade.close()


def dying(stockade: Stockade, number: int, *words: str | Path) -> int:
    """Run a command line that kills itself at its change of this number; how it ended."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.e2e.dying import die_at; "
        f"from harness.cli import main; die_at({number}); main()"
    )
    argv = [sys.executable, "-B", "-c", code, *map(str, words)]
    done = subprocess.run(argv, env=stockade.environ, capture_output=True, check=False)
    return done.returncode


CHANGES = [*range(1, 20), *range(20, 190, 10)]
"""The first ones take the log and the scratch folder over; then come box, copies and end."""


@pytest.mark.bubblewrap
@pytest.mark.parametrize("number", CHANGES)
def test_a_resumption_killed_at_a_change_is_taken_up_again(
    stockade: Stockade, killed: Path, number: int
) -> None:
    shutil.copytree(killed, stockade.state, symlinks=True)
    (log,) = stockade.state.glob("stockade/runs/*/events.jsonl")
    ended = dying(stockade, number, "runs", "resume", log.parent, "--rerun-unknown")
    assert ended in (-9, 0)
    if ended:
        done = stockade("runs", "resume", log.parent, "--rerun-unknown")
        assert ended_well(done), done.err
    is_whole(stockade, log.parent)


def ended_well(done: Done) -> bool:
    """It was taken up and passed, or there was no more to do than to say that it had ended."""
    return (done.code, "has ended" in done.err) in {(0, False), (0, True), (2, True)}


@pytest.mark.bubblewrap
@pytest.mark.parametrize("number", [*range(9, 18), *range(20, 190, 20)])
def test_a_run_killed_at_a_change_is_taken_up_or_was_not_recorded(
    stockade: Stockade, demo: Path, number: int
) -> None:
    assert dying(stockade, number, *run_words(demo)) in (-9, 0)
    logs = list(stockade.state.glob("stockade/runs/*/events.jsonl"))
    if not logs:
        return
    done = stockade("runs", "resume", logs[0].parent, "--rerun-unknown")
    if os.path.getsize(logs[0]) == 0:
        assert (done.code, "nothing was recorded" in done.err) == (2, True)
        return
    assert ended_well(done), done.err
    is_whole(stockade, logs[0].parent)
