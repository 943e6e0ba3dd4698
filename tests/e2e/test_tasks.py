"""`stockade tasks`: a start that works, problems at once, a proof by running."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.conftest import TaskFolder


def check(stockade: Any, box: str, folder: Path) -> Any:
    return stockade(
        "tasks", "check", folder, "--run", "--runner", box, "--policy", stockade.policy, "--json"
    )


def test_a_task_that_init_writes_fails_with_nop_and_passes_with_oracle(
    stockade: Any, tmp_path: Path, quick_box: str
) -> None:
    assert stockade("tasks", "init", tmp_path / "new", "--name", "org/new").code == 0
    done = check(stockade, quick_box, tmp_path / "new")
    (row,) = json.loads(done.out)
    codes = [row["proof"][agent]["exit_code"] for agent in ("nop", "oracle")]
    assert (done.code, codes, row["proof"]["ok"]) == (0, [1, 0], True), done.err


def test_a_task_that_nop_passes_is_no_task(stockade: Any, task: TaskFolder, quick_box: str) -> None:
    task.write("environment/workspace/calc.py", "def add(a, b):\n    return a + b\n")
    done = check(stockade, quick_box, task.path)
    (row,) = json.loads(done.out)
    assert (done.code, row["proof"]["ok"], row["proof"]["nop"]["exit_code"]) == (1, False, 0)


def test_all_problems_of_all_tasks_are_told_at_once(stockade: Any, tmp_path: Path) -> None:
    TaskFolder(tmp_path / "tasks" / "a").write("instruction.md", "")
    b = TaskFolder(tmp_path / "tasks" / "b")
    b.write("task.toml", '[environment]\ncpus = "two"\nnetwork_mode = "public"\n')
    done = stockade("tasks", "check", tmp_path / "tasks", "--json")
    found = [[(p["file"], p["key"]) for p in row["problems"]] for row in json.loads(done.out)]
    assert (done.code, found) == (
        2,
        [[("instruction.md", "")], [("task.toml", "environment.cpus")]],
    )


def test_lint_exits_1_for_a_warning_and_names_the_place(stockade: Any, task: TaskFolder) -> None:
    task.write("environment/Dockerfile", "FROM python:latest\nUSER 1000\n")
    done = stockade("tasks", "lint", task.path)
    assert (done.code, "environment/Dockerfile:1: warning: python:latest" in done.out) == (1, True)


def test_our_own_examples_and_a_new_task_have_no_warning(stockade: Any, tmp_path: Path) -> None:
    assert stockade("tasks", "init", tmp_path / "new", "--name", "org/new").code == 0
    examples = Path(__file__).resolve().parents[2] / "examples"
    done = stockade("tasks", "lint", examples, tmp_path / "new", "--json")
    found = [row for row in json.loads(done.out) if row["level"] != "note"]
    assert (done.code, found) == (0, [])
