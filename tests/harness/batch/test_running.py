"""One task of a batch, whatever it holds, does not end the others."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from harness.batch import BatchOptions, batch_code, make_batch, run_batch, running
from harness.cli.entry import run_command
from harness.run import BoxOptions, RunOptions, Stop
from policies import Isolation

GOOD = """\
schema_version = "1.4"
[environment]
network_mode = "no-network"
[metadata.stockade]
workspace = "ws"
[metadata.stockade.verify]
argv = ["true"]
"""
HOSTILE = {
    "a nul": GOOD.replace('"ws"', '"a\\u0000b"'),
    "deep": "a = " + "[" * 3000 + "]" * 3000,
    "a long number": "a = " + "9" * 5000,
    "not utf-8": "\udcff",
}


class Lines:
    """A watch that keeps what it is told."""

    def __init__(self) -> None:
        self.ends: list[tuple[str, int]] = []

    def began(self, *_: Any) -> None:
        pass

    def ended(self, attempt: Any, *_: Any) -> None:
        self.ends.append((attempt.task, attempt.exit_code))

    def say(self, text: str) -> None:
        pass


def write(folder: Path, text: str = GOOD) -> Path:
    for name in ("tests", "ws"):
        (folder / name).mkdir(parents=True)
    (folder / "instruction.md").write_text("Mend it.\n")
    (folder / "task.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    return folder


def run(folders: list[Path], out: Path) -> tuple[Any, Lines]:
    box = BoxOptions(runner="process", accept_isolation=Isolation.PROCESS)
    options = BatchOptions(tuple(folders), RunOptions(box, agent="nop"), jobs=2, out=out)
    watch = Lines()
    found = asyncio.run(run_batch(make_batch(options), stop=Stop(), watch=watch))
    return found, watch


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


def test_hostile_files_are_told_and_the_other_tasks_run(tmp_path: Path) -> None:
    folders = [write(tmp_path / name, text) for name, text in HOSTILE.items()]
    found, watch = run([*folders, write(tmp_path / "good")], tmp_path / "out")
    assert sorted(watch.ends) == sorted([*((name, 2) for name in HOSTILE), ("good", 0)])
    assert batch_code(found) == 2


def test_what_nobody_has_foreseen_is_the_failure_of_one_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = running.make_job

    def breaking(options: RunOptions) -> Any:
        if options.task is not None and options.task.name == "bad":
            raise LookupError("no such thing")
        return real(options)

    monkeypatch.setattr(running, "make_job", breaking)
    found, watch = run([write(tmp_path / "bad"), write(tmp_path / "good")], tmp_path / "out")
    assert sorted(watch.ends) == [("bad", 3), ("good", 0)]
    (bad, _) = found.tasks
    assert (bad.best.tries, bad.best.result["error"], batch_code(found)) == (
        2,
        "internal error: LookupError: no such thing",
        3,
    )


def test_tasks_of_one_name_are_counted_one_by_one(tmp_path: Path) -> None:
    failing = GOOD.replace('"true"', '"false"')
    folders = [
        write(tmp_path / "1" / "x"),
        write(tmp_path / "2" / "x", failing),
        write(tmp_path / "3" / "x-2"),
    ]
    found, _ = run(folders, tmp_path / "out")
    assert [(t.name, t.passed) for t in found.tasks] == [("x", True), ("x-3", False), ("x-2", True)]
    assert batch_code(found) == 1


def test_a_file_that_cannot_be_written_at_the_end_is_told_and_the_others_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["batch", str(write(tmp_path / "good")), "--agent", "nop", "--runner", "process"]
    words += ["--accept-isolation", "process", "--out", str(tmp_path / "out")]
    words += ["--summary", "/dev/full", "--junit", str(tmp_path / "j.xml")]
    assert run_command(words) == 3
    said = capsys.readouterr().err.splitlines()
    assert "/dev/full: cannot be written: No space left on device" in said
    assert (tmp_path / "j.xml").read_text().startswith("<?xml")
