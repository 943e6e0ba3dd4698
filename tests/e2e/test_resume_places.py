"""A log cut at one record after another: wherever the harness died, the run ends the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli.entry import run_command
from harness.run.folder import find_run

pytestmark = pytest.mark.bubblewrap


Record = dict[str, Any]


def cut_before(lines: list[bytes], wanted: Callable[[Record], bool]) -> int:
    """The place of the last such record."""
    return [n for n, line in enumerate(lines) if wanted(json.loads(line))][-1]


def of_type(kind: str, name: str = "") -> Callable[[Record], bool]:
    """Records of a type, and of a tool where one is named."""
    return lambda record: record["type"] == kind and record.get("name", "") == name


def of_denial(record: Record) -> bool:
    """Results of calls that were denied."""
    return record["type"] == "tool/result" and (record.get("error") or {}).get("kind") == "denied"


Cut = Callable[[Callable[[Record], bool]], tuple[Path, str]]


@pytest.fixture
def cut_run(tmp_path: Path, demo: Path, monkeypatch: pytest.MonkeyPatch) -> Cut:
    """Runs the demo and cuts its log: the run folder, and what the answer had been."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    script = f"scripted:{demo / 'script.json'}"

    def cut(wanted: Callable[[Record], bool]) -> tuple[Path, str]:
        assert run_command(["run", str(demo), "--model", script, "--runner", "bubblewrap"]) == 0
        whole = find_run("latest").path
        answer = json.loads((whole / "result.json").read_text())["answer"]
        lines = (whole / "events.jsonl").read_bytes().splitlines(keepends=True)
        place = cut_before(lines, wanted)
        (whole / "events.jsonl").write_bytes(b"".join(lines[:place]) + lines[place][:30])
        for left in ("result.json", "patch.diff", "report.html"):
            (whole / left).unlink()
        return whole, answer

    return cut


slow = pytest.mark.slow
PLACES = [
    pytest.param(of_type("tool/result", "finish"), id="before the result of finish"),
    pytest.param(of_type("step/end"), id="before the end of the last step"),
    pytest.param(of_type("tool/verdict", "run_command"), id="before a verdict", marks=slow),
    pytest.param(of_type("verify/end"), id="before the end of verification", marks=slow),
    pytest.param(of_type("run/end"), id="before the end of the run", marks=slow),
]


@pytest.mark.parametrize("wanted", PLACES)
def test_a_run_cut_there_passes_after_it_is_taken_up(
    cut_run: Cut, wanted: Callable[[Record], bool]
) -> None:
    folder, answer = cut_run(wanted)
    code = run_command(["runs", "resume", str(folder)])
    result = json.loads((folder / "result.json").read_text())
    assert (code, result["verdict"], result["answer"]) == (0, "passed", answer)
    assert result["denials"] == 1
    assert run_command(["runs", "verify", str(folder)]) == 0


def test_a_denial_of_a_call_that_is_run_again_counts(cut_run: Cut) -> None:
    folder, _ = cut_run(of_denial)
    assert run_command(["runs", "resume", str(folder), "--rerun-unknown"]) == 0
    assert json.loads((folder / "result.json").read_text())["denials"] == 1
