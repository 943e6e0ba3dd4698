"""A run whose harness is killed at any moment is taken up again, and passes."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo"
pytestmark = pytest.mark.bubblewrap
RUN = ("run", DEMO, "--model", f"scripted:{DEMO / 'script.json'}", "--runner", "bubblewrap")


def kill_when(stockade: Any, reached: Any) -> Path | None:
    """Start the demo, kill it once ``reached(log text)``; the run folder, None before any."""
    process = stockade.start(*RUN)
    runs = stockade.state / "stockade" / "runs"
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        logs = list(runs.glob("*/events.jsonl"))
        if reached(logs[0].read_text() if logs else ""):
            break
        time.sleep(0.005)
    process.kill()
    process.wait()
    folders = list(runs.glob("*/events.jsonl"))
    return folders[0].parent if folders else None


MOMENTS = {
    "before the first answer": '"type":"model/request"',
    "in a call": '"call":"call-1-2"',
    "between steps": '"type":"step/end"',
    "after an edit": '"step":6',
    "in verification": '"type":"verify/start"',
}


@pytest.mark.parametrize("mark", MOMENTS.values(), ids=MOMENTS)
def test_a_killed_run_goes_on_and_passes(stockade: Any, mark: str) -> None:
    folder = kill_when(stockade, lambda text: mark in text)
    assert folder is not None
    done = stockade("runs", "resume", folder, "--rerun-unknown", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["verdict"] == "passed"
    assert stockade("runs", "verify", folder).code == 0


def test_a_call_of_unknown_outcome_is_not_run_again_unless_told(stockade: Any) -> None:
    folder = kill_when(stockade, lambda text: '"call":"call-1-2"' in text)
    assert folder is not None
    stockade("runs", "resume", folder)
    results = [
        record
        for record in map(json.loads, (folder / "events.jsonl").read_text().splitlines())
        if record["type"] == "tool/result" and record["call"] == "call-1-2"
    ]
    assert [r["error"]["code"] for r in results] == ["OUTCOME_UNKNOWN"]


def test_drift_stops_the_run_and_leaves_it_open(stockade: Any) -> None:
    folder = kill_when(stockade, lambda text: '"step":6' in text)
    assert folder is not None
    lock = json.loads((folder / "lock.json").read_text())
    lock["workspace"]["digest"] = "sha256:other"
    (folder / "lock.json").write_text(json.dumps(lock))
    refused = stockade("runs", "resume", folder)
    accepted = stockade("runs", "resume", folder, "--accept-drift", "--rerun-unknown")
    assert (refused.code, accepted.code) == (2, 0), refused.err + accepted.err
    assert "workspace.digest: 'sha256:other' is now" in refused.err


def test_a_run_that_ended_has_nothing_to_take_up(stockade: Any) -> None:
    done = stockade(*RUN)
    refused = stockade("runs", "resume", done.folder)
    assert (refused.code, "the run has ended (completed)" in refused.err) == (2, True)


def test_a_log_without_a_first_record_says_that_nothing_was_recorded(stockade: Any) -> None:
    folder = stockade.state / "stockade" / "runs" / "r"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_bytes(b'{"seq":0,"type":"run/st')
    refused = stockade("runs", "resume", "r")
    assert (refused.code, "nothing was recorded" in refused.err) == (2, True)


def test_a_run_can_be_closed_instead(stockade: Any) -> None:
    folder = kill_when(stockade, lambda text: '"step":6' in text)
    assert folder is not None
    closed = stockade("runs", "resume", folder, "--close", "--json")
    assert (closed.code, json.loads(closed.out)["status"]) == (0, "aborted")
    assert stockade("runs", "verify", folder).code == 0


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_thirty_random_moments_all_end_in_a_pass(tmp_path: Path) -> None:
    from tests.e2e.conftest import Stockade

    chance = random.Random(7)
    for number in range(30):
        (tmp_path / str(number)).mkdir()
        stockade = Stockade(tmp_path / str(number))
        moment = time.monotonic() + chance.uniform(0.2, 6.0)
        folder = kill_when(stockade, lambda _, moment=moment: time.monotonic() > moment)
        if folder is None:
            continue
        for _ in range(2):  # also the resumption is killed, once
            process = stockade.start("runs", "resume", folder, "--rerun-unknown")
            time.sleep(chance.uniform(0.2, 4.0))
            process.kill()
            process.wait()
        done = stockade("runs", "resume", folder, "--rerun-unknown")
        if done.code == 2:
            said = ("nothing was recorded", "the run has ended")
            assert any(words in done.err for words in said), done.err
            continue
        assert done.code == 0, f"{number}: {done.err}"
        assert stockade("runs", "verify", folder).code == 0
