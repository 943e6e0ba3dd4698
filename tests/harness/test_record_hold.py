"""Who writes a log can be told from outside, also after its writer was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from harness.record import EventLog, held
from harness.run.folder import RunFolder
from harness.run.prune import prune_runs
from harness.run.work import goes_on, sweep_scratch

WRITER = """
import os, sys, time
from harness.record import EventLog
log = EventLog.create(sys.argv[1], run="r")
log.append("run/start")
print("ready", flush=True)
time.sleep(60)
"""


def run_folder(root: Path) -> RunFolder:
    """A run folder whose scratch folder names no owner."""
    folder = root / "r"
    (folder / "scratch").mkdir(parents=True)
    return RunFolder(folder)


def test_a_log_is_held_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    before = held(path)
    with EventLog.create(path, run="r") as log:
        log.append("run/start")
        during = held(path)
    assert (before, during, held(path)) == (False, True, False)


def test_a_killed_writer_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        during = held(path)
        os.kill(writer.pid, signal.SIGKILL)
    with EventLog.reopen(path) as log:
        assert (during, log.count) == (True, 1)


def test_a_run_goes_on_as_long_as_its_log_is_held(tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    with EventLog.create(folder.events, run="r") as log:
        log.append("run/start")
        during = (goes_on(folder), prune_runs(root=tmp_path), sweep_scratch(tmp_path))
    assert during == (True, [], [])
    assert not goes_on(folder)


def test_a_scratch_folder_without_an_owner_is_swept_when_nobody_writes(tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    folder.events.write_text("{}\n")
    assert sweep_scratch(tmp_path) == ["scratch folder of run r"]
    assert not (folder.path / "scratch").exists()
