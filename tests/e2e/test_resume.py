"""A run whose harness is killed at any moment is taken up again, and passes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def run(demo: Path) -> tuple[str | Path, ...]:
    """The words that run the demo."""
    return ("run", demo, "--model", f"scripted:{demo / 'script.json'}", "--runner", "bubblewrap")


def kill_when(stockade: Any, reached: Any, *words: str | Path) -> Path | None:
    """Start the demo, kill it once ``reached(log text)``; the run folder, None before any."""
    process = stockade.start(*words)
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


MOMENTS = [
    pytest.param('"type":"model/request"', id="before the first answer", marks=pytest.mark.slow),
    pytest.param('"call":"call-1-2"', id="in a call"),
    pytest.param('"type":"step/end"', id="between steps", marks=pytest.mark.slow),
    pytest.param('"step":6', id="after an edit", marks=pytest.mark.slow),
    pytest.param('"type":"verify/start"', id="in verification", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("mark", MOMENTS)
def test_a_killed_run_goes_on_and_passes(stockade: Any, run: Any, mark: str) -> None:
    folder = kill_when(stockade, lambda text: mark in text, *run)
    assert folder is not None
    done = stockade("runs", "resume", folder, "--rerun-unknown", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["verdict"] == "passed"
    assert stockade("runs", "verify", folder).code == 0


def test_a_call_of_unknown_outcome_is_not_run_again_unless_told(stockade: Any, run: Any) -> None:
    folder = kill_when(stockade, lambda text: '"call":"call-1-2"' in text, *run)
    assert folder is not None
    done = stockade("runs", "resume", folder)
    results = [
        record
        for record in map(json.loads, (folder / "events.jsonl").read_text().splitlines())
        if record["type"] == "tool/result" and record["call"] == "call-1-2"
    ]
    assert [r["error"]["code"] for r in results] == ["OUTCOME_UNKNOWN"], done.err


def test_drift_stops_the_run_and_leaves_it_open(stockade: Any, run: Any) -> None:
    folder = kill_when(stockade, lambda text: '"step":6' in text, *run)
    assert folder is not None
    lock = json.loads((folder / "lock.json").read_text())
    lock["workspace"]["digest"] = "sha256:other"
    (folder / "lock.json").write_text(json.dumps(lock))
    refused = stockade("runs", "resume", folder)
    accepted = stockade("runs", "resume", folder, "--accept-drift", "--rerun-unknown")
    assert (refused.code, accepted.code) == (2, 0), refused.err + accepted.err
    assert "workspace.digest: 'sha256:other' is now" in refused.err
    assert "--accept-drift goes on all the same" in refused.err


def test_a_run_that_ended_has_nothing_to_take_up(stockade: Any, run: Any) -> None:
    done = stockade(*run)
    refused = stockade("runs", "resume", done.folder)
    assert (refused.code, "the run has ended (completed)" in refused.err) == (2, True)


def test_a_log_without_a_first_record_says_that_nothing_was_recorded(stockade: Any) -> None:
    folder = stockade.state / "stockade" / "runs" / "r"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_bytes(b'{"seq":0,"type":"run/st')
    refused = stockade("runs", "resume", "r")
    assert (refused.code, "nothing was recorded" in refused.err) == (2, True)


def test_a_run_can_be_closed_instead(stockade: Any, run: Any) -> None:
    folder = kill_when(stockade, lambda text: '"step":6' in text, *run)
    assert folder is not None
    closed = stockade("runs", "resume", folder, "--close", "--json")
    assert (closed.code, json.loads(closed.out)["status"]) == (0, "aborted")
    assert stockade("runs", "verify", folder).code == 0


@pytest.mark.parametrize(
    ("agent", "verdict"),
    [("oracle", "passed"), pytest.param("nop", "failed", marks=pytest.mark.slow)],
)
def test_a_run_without_a_model_is_taken_up_as_well(
    stockade: Any, demo: Path, agent: str, verdict: str
) -> None:
    words = ("run", demo, "--agent", agent, "--runner", "bubblewrap")
    folder = kill_when(stockade, lambda text: '"type":"verify/start"' in text, *words)
    done = stockade("runs", "resume", folder, "--json")
    assert json.loads(done.out)["verdict"] == verdict, done.err
    assert stockade("runs", "verify", folder).code == 0


def test_a_run_that_goes_on_is_not_taken_up(stockade: Any) -> None:
    words = ("exec", "--policy", stockade.policy, "--runner", "bubblewrap", "--")
    process = stockade.start(*words, "python3", "-c", "import time; time.sleep(60)")
    until = time.monotonic() + 60
    logs: list[Path] = []
    while time.monotonic() < until and not logs:
        time.sleep(0.02)
        found = stockade.state.glob("stockade/runs/*/events.jsonl")
        logs = [log for log in found if '"tool/verdict"' in log.read_text()]
    alive = stockade("runs", "resume", logs[0].parent, "--close")
    process.kill()
    process.wait()
    refused = stockade("runs", "resume", logs[0].parent)
    closed = stockade("runs", "resume", logs[0].parent, "--close")
    assert (alive.code, "its harness is alive" in alive.err) == (2, True)
    assert (refused.code, "no single commands; --close ends its record" in refused.err) == (2, True)
    assert (closed.code, stockade("runs", "verify", logs[0].parent).code) == (0, 0)


def test_what_was_done_in_place_is_not_done_again(stockade: Any, tmp_path: Path) -> None:
    folder = stockade.state / "stockade" / "runs" / "r"
    folder.mkdir(parents=True)
    options = {"box": {}, "in_place": True, "instruction": "x"}
    box = dict.fromkeys(("workspace", "patch", "accept_isolation"))
    (folder / "options.json").write_text(json.dumps({**options, "box": {**box, "include": []}}))
    (folder / "events.jsonl").write_text('{"seq":0,"type":"run/start","run":"r","kind":"run"}\n')
    refused = stockade("runs", "resume", "r")
    assert (refused.code, "it worked in place" in refused.err) == (2, True), refused.err


def test_a_harness_that_died_while_it_made_its_scratch_folder_is_known_to_be_dead(
    stockade: Any, run: Any
) -> None:
    folder = kill_when(stockade, lambda text: '"step":6' in text, *run)
    assert folder is not None
    (folder / "scratch" / "owner").unlink()
    done = stockade("runs", "resume", folder, "--rerun-unknown")
    assert (done.code, (folder / "scratch").exists()) == (0, False), done.err


def test_a_run_that_ended_without_its_result_gets_it_from_its_log(stockade: Any, run: Any) -> None:
    done = stockade(*run)
    folder, whole = done.folder, done.result
    for name in ("result.json", "report.html"):
        (folder / name).unlink()
    again = stockade("runs", "resume", folder, "--json")
    result = json.loads(again.out)
    assert (again.code, (folder / "report.html").exists()) == (0, True), again.err
    assert result == json.loads((folder / "result.json").read_text())
    assert result == {key: whole[key] for key in result}
    assert set(whole) - set(result) == {
        *("runner", "isolation", "patch", "started", "ended", "seconds")
    }


def test_a_run_that_ended_without_its_report_gets_it_from_its_log(stockade: Any, run: Any) -> None:
    folder = stockade(*run).folder
    before = (folder / "result.json").read_bytes()
    (folder / "report.html").unlink()
    done = stockade("runs", "resume", folder)
    assert (done.code, "report.html was missing" in done.err) == (0, True), done.err
    assert (folder / "report.html").exists()
    assert (folder / "result.json").read_bytes() == before
