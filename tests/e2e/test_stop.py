"""Stopping a run from outside: by Ctrl-C, by SIGTERM, by SIGKILL."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest

from tests.e2e.conftest import TaskFolder
from tests.e2e.living import alive, gone


def sleeper(task, mark: str) -> str:
    """A scripted model that calls a program which sleeps for long."""
    code = f"import time; time.sleep(1000)  # {mark}"
    return task.script([("run_command", {"argv": ["python3", "-c", code]})])


def wait_for(condition, seconds: float = 60.0) -> None:
    """Until something holds; its absence is a failure."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def mark() -> str:
    return f"mark-{os.getpid()}-{time.monotonic_ns()}"


def begin(stockade, task, box: str, mark: str) -> subprocess.Popen[bytes]:
    """A run in the middle of a call."""
    words = ("run", task.path, "--policy", stockade.policy, "--runner", box)
    process = stockade.start(*words, "--model", sleeper(task, mark))
    wait_for(lambda: alive(mark) or process.poll() is not None)
    assert process.poll() is None, process.stderr.read()
    return process


def folder_of(stockade):
    (folder,) = stockade.state.glob("stockade/runs/*")
    return folder


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_the_middle_of_a_call_ends_the_run_in_order(
    stockade, task, quick_box, mark, number, code
) -> None:
    process = begin(stockade, task, quick_box, mark)
    process.send_signal(number)
    process.communicate(timeout=30)
    result = json.loads((folder_of(stockade) / "result.json").read_text())
    assert (process.returncode, result["status"], result["exit_code"]) == (code, "aborted", code)
    assert gone(mark)
    assert stockade("runs", "verify", "latest").code == 0
    assert not (folder_of(stockade) / "scratch").exists()


def test_a_killed_harness_leaves_no_process_and_its_log_can_be_read(
    stockade, task, box, mark
) -> None:
    process = begin(stockade, task, box, mark)
    process.kill()
    process.communicate(timeout=30)
    assert gone(mark, 3.0)
    shown = stockade("runs", "show", "latest")
    assert (shown.code, "run_command" in shown.out) == (0, True), shown.err
    assert (folder_of(stockade) / "scratch").exists()
    again = stockade.run(task.path, "--runner", box, "--agent", "nop", "--out", task.path / "out")
    assert again.code == 1, again.err
    assert not (folder_of(stockade) / "scratch").exists()


def test_what_a_killed_run_left_outside_the_state_folder_is_swept_too(
    stockade, task, quick_box, mark, tmp_path
) -> None:
    words = ("run", task.path, "--policy", stockade.policy, "--runner", quick_box, "--out")
    process = stockade.start(*words, tmp_path / "out", "--model", sleeper(task, mark))
    wait_for(lambda: alive(mark) or process.poll() is not None)
    process.kill()
    process.communicate(timeout=30)
    assert (tmp_path / "out" / "scratch").exists()
    swept = stockade("gc")
    assert (swept.code, (tmp_path / "out" / "scratch").exists()) == (0, False), swept.err
    assert list(stockade.state.glob("stockade/elsewhere/*")) == []


def test_gc_removes_what_is_dead_and_nothing_else(stockade, each_box, mark, tmp_path) -> None:
    def start(name: str) -> subprocess.Popen[bytes]:
        task = TaskFolder(tmp_path / f"task-{name}")
        words = ("run", task.path, "--policy", stockade.policy, "--runner", each_box)
        words = (*words, "--out", tmp_path / name, "--model", sleeper(task, f"{name}-{mark}"))
        process: subprocess.Popen[bytes] = stockade.start(*words)
        wait_for(lambda: alive(f"{name}-{mark}") or process.poll() is not None)
        return process

    dead, living = start("dead"), start("living")
    dead.kill()
    dead.communicate(timeout=30)
    swept = stockade("gc")
    assert swept.code == 0, swept.err
    assert gone(f"dead-{mark}", 3.0)
    assert not (tmp_path / "dead" / "scratch").exists()
    assert alive(f"living-{mark}")
    assert (tmp_path / "living" / "scratch").exists()
    living.send_signal(signal.SIGINT)
    living.communicate(timeout=30)
    result = json.loads((tmp_path / "living" / "result.json").read_text())
    assert (result["status"], result["exit_code"]) == ("aborted", 130)


def test_a_second_signal_ends_all_at_once(stockade, task, quick_box, mark) -> None:
    process = begin(stockade, task, quick_box, mark)
    process.send_signal(signal.SIGINT)
    time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert (process.returncode, gone(mark, 3.0)) == (130, True)


@pytest.mark.slow
@pytest.mark.parametrize("tenths", range(0, 30, 2))
def test_a_signal_at_any_moment_leaves_a_whole_log_or_none(stockade, task, tenths) -> None:
    words = ("run", task.path, "--policy", stockade.policy, "--runner", "auto")
    process = stockade.start(*words, "--agent", "oracle")
    time.sleep(tenths / 10)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in {0, 130, -signal.SIGINT}, err
    # Before a line of ours runs, the interpreter answers for itself.
    early = not list(stockade.state.glob("stockade/runs/*"))
    assert early or b"Traceback" not in err, err
    for folder in stockade.state.glob("stockade/runs/*"):
        assert stockade("runs", "verify", folder).code == 0
        assert {"scratch"}.isdisjoint(path.name for path in folder.iterdir())
