"""Every command of docs/record.md, run as it is written."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from harness.cli.entry import run_command
from harness.run.folder import find_run

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "record.md").read_text("utf-8")
BLOCK = re.compile(r"^```console( interrupted)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands() -> list[tuple[bool, str, int]]:
    """For each command: whether it is about an interrupted run, its text, its exit code."""
    found = []
    for interrupted, block in BLOCK.findall(GUIDE):
        first = bool(interrupted)
        for line in block.splitlines():
            assert line.startswith("$ "), line
            text, _, code = line[2:].partition(" # exit ")
            found.append((first, text, int(code or 0)))
            first = False
    return found


def interrupt(number: int) -> None:
    """A run as a killed harness leaves it: the last one, its log torn in the middle of a record."""
    whole = find_run("latest").path
    lines = (whole / "events.jsonl").read_bytes().splitlines(keepends=True)
    place = whole.parent / f"99999999-00000{number}-killed"
    place.mkdir(mode=0o700)
    (place / "artifacts").mkdir()
    for name in ("options.json", "lock.json"):
        (place / name).write_bytes((whole / name).read_bytes())
    (place / "events.jsonl").write_bytes(b"".join(lines[:30]) + lines[30][:25])


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.bubblewrap
def test_every_command_of_the_guide_ends_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("STOCKADE_RUNNER", "bubblewrap")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    wrong = []
    for number, (interrupted, text, expected) in enumerate(commands()):
        if interrupted:
            interrupt(number)
        if text.startswith("stockade "):
            code = run_command(text.split()[1:])
        else:
            code = subprocess.run(text, shell=True, check=False, capture_output=True).returncode
        said = capsys.readouterr()
        if code != expected:
            wrong.append((text, code, said.out[-300:], said.err[-600:]))
    assert wrong == []


def test_every_command_of_runs_is_in_the_guide() -> None:
    from harness.cli.runs import runs

    said = {text.split()[2] for _, text, _ in commands() if text.startswith("stockade runs ")}
    assert said == {*runs.commands}
