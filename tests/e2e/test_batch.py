"""`stockade batch` over real boxes: numbers that agree, resume, Ctrl-C, retries."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from tests.e2e.conftest import TaskFolder


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """Three good tasks, and one whose reference solution does not solve it."""
    folder = tmp_path / "tasks"
    for name in ("one", "three", "two"):
        TaskFolder(folder / name)
    TaskFolder(folder / "unsolved").write("solution/solve.sh", "#!/bin/bash\ntrue\n")
    return folder


def run(stockade: Any, box: str, *words: Any) -> Any:
    return stockade(
        "batch", *words, "--policy", stockade.policy, "--runner", box, "--agent", "oracle"
    )


def test_every_output_tells_the_same_numbers(
    stockade: Any, tasks: Path, tmp_path: Path, quick_box: str
) -> None:
    files = [tmp_path / name for name in ("j.xml", "d.sarif", "s.md")]
    flags = ("--junit", files[0], "--sarif", files[1], "--summary", files[2], "-j", "2", "--json")
    done = run(stockade, quick_box, tasks, *flags)
    summary = json.loads(done.out)
    suite = ET.parse(files[0]).getroot()
    assert (done.code, summary["passed"], summary["failed"], summary["total"]) == (1, 3, 1, 4)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "0")
    assert "3 of 4 tasks passed" in files[2].read_text()
    assert "3 of 4 passed" in done.err
    assert [t["name"] for t in summary["tasks"]] == ["one", "three", "two", "unsolved"]


@pytest.mark.slow
def test_nop_fails_every_task(stockade: Any, tasks: Path, quick_box: str) -> None:
    done = stockade(
        "batch", tasks, "--policy", stockade.policy, "--runner", quick_box, "--agent", "nop",
        "--json",
    )  # fmt: skip
    assert (done.code, json.loads(done.out)["passed"]) == (1, 0)


def test_denials_are_valid_sarif(stockade: Any, tmp_path: Path, quick_box: str) -> None:
    task = TaskFolder(tmp_path / "tasks" / "denied")
    script = task.script(
        [("run_command", {"argv": ["rm", "-rf", "/"]})], [("finish", {"answer": "no"})]
    )
    target = tmp_path / "d.sarif"
    stockade(
        "batch", tmp_path / "tasks", "--policy", stockade.policy, "--runner", quick_box,
        "--model", script, "--sarif", target,
    )  # fmt: skip
    document = json.loads(target.read_text())
    schema = json.loads((Path(__file__).parent / "sarif-2.1.0-core.json").read_text())
    jsonschema.validate(document, schema)
    (result,) = document["runs"][0]["results"]
    assert (result["ruleId"], result["properties"]["argv"]) == (
        "no-program",
        [[["rm", "-rf", "/"]]],
    )


@pytest.mark.slow
def test_finished_tasks_are_not_run_again_after_a_kill(
    stockade: Any, tasks: Path, tmp_path: Path, quick_box: str
) -> None:
    out = tmp_path / "batch"
    words = ("batch", tasks, "--policy", stockade.policy, "--runner", quick_box,
             "--agent", "oracle", "--out", out, "-j", "1")  # fmt: skip
    process = stockade.start(*words)
    until = time.monotonic() + 60
    while not list(out.glob("runs/*/try-1/result.json")) and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = {p: p.stat().st_mtime_ns for p in out.glob("runs/*/try-1/result.json")}
    done = stockade(*words, "--json")
    after = {p: p.stat().st_mtime_ns for p in before}
    summary = json.loads(done.out)
    assert (before != {}, before == after) == (True, True)
    assert (summary["passed"], summary["failed"]) == (3, 1)


@pytest.mark.slow
def test_ctrl_c_ends_in_order_and_says_what_was_not_run(
    stockade: Any, tasks: Path, tmp_path: Path, quick_box: str
) -> None:
    TaskFolder(tasks / "aaa-slow").write("solution/solve.sh", "#!/bin/bash\nsleep 60\n")
    process = stockade.start(
        "batch", tasks, "--policy", stockade.policy, "--runner", quick_box,
        "--agent", "oracle", "--out", tmp_path / "batch", "-j", "1",
    )  # fmt: skip
    until = time.monotonic() + 60
    log = tmp_path / "batch" / "runs" / "aaa-slow.1" / "try-1" / "events.jsonl"
    while (not log.exists() or '"kind":"box"' not in log.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "not run: aaa-slow, one, three, two, unsolved" in err.decode()


def test_a_task_that_cannot_be_used_is_told_and_the_others_run(
    stockade: Any, tasks: Path, quick_box: str
) -> None:
    (tasks / "one" / "task.toml").write_text("[task\n")
    done = run(stockade, quick_box, tasks, "--filter", "[ot]*", "--json")
    summary = json.loads(done.out)
    codes = {task["name"]: task["exit_code"] for task in summary["tasks"]}
    assert (done.code, codes) == (2, {"one": 2, "three": 0, "two": 0})


@pytest.mark.slow
def test_fail_fast_starts_nothing_after_a_failure(
    stockade: Any, tasks: Path, quick_box: str
) -> None:
    (tasks / "unsolved").rename(tasks / "a-first")
    done = run(stockade, quick_box, tasks, "--fail-fast", "-j", "1", "--json")
    assert json.loads(done.out)["skipped"] == ["one", "three", "two"]
