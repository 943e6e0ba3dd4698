"""A log cut at one record after another: wherever the harness died, the run ends the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.cli.entry import run_command
from harness.run.folder import find_run

DEMO = Path(__file__).parents[2] / "examples" / "demo"
pytestmark = pytest.mark.bubblewrap


def cut_before(lines: list[bytes], kind: str, name: str = "") -> int:
    """The place of the last record of a type, and of a tool where one is named."""
    records = [json.loads(line) for line in lines]
    places = [r["seq"] for r in records if r["type"] == kind and r.get("name", "") == name]
    return int(places[-1])


PLACES = [
    pytest.param("tool/result", "finish", id="before the result of finish"),
    pytest.param("step/end", "", id="before the end of the last step"),
    pytest.param("tool/verdict", "run_command", id="before a verdict", marks=pytest.mark.slow),
    pytest.param("verify/end", "", id="before the end of verification", marks=pytest.mark.slow),
    pytest.param("run/end", "", id="before the end of the run", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("kind", "name"), PLACES)
def test_a_run_cut_there_passes_after_it_is_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, kind: str, name: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    script = f"scripted:{DEMO / 'script.json'}"
    assert run_command(["run", str(DEMO), "--model", script, "--runner", "bubblewrap"]) == 0
    whole = find_run("latest").path
    answer = json.loads((whole / "result.json").read_text())["answer"]
    lines = (whole / "events.jsonl").read_bytes().splitlines(keepends=True)
    place = cut_before(lines, kind, name)
    (whole / "events.jsonl").write_bytes(b"".join(lines[:place]) + lines[place][:30])
    for left in ("result.json", "patch.diff", "report.html"):
        (whole / left).unlink()
    capsys.readouterr()
    code = run_command(["runs", "resume", str(whole)])
    result = json.loads((whole / "result.json").read_text())
    assert (code, result["verdict"], result["answer"]) == (0, "passed", answer), (
        capsys.readouterr().err
    )
    assert result["denials"] == 1
    assert run_command(["runs", "verify", str(whole)]) == 0
    shutil.rmtree(whole)
