"""The examples judged again under `readonly`: what it refuses are the writes and the code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Stockade

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TASKS = sorted(path.parent for path in EXAMPLES.glob("*/task.toml"))
WRITING = {"write_file", "edit_file", "apply_patch"}
REFUSED_BEFORE = {"apt-get", "pip", "bash"}
"""Programs that `python-dev` denied already: for them nothing changes."""
pytestmark = [pytest.mark.slow, pytest.mark.bubblewrap, pytest.mark.timeout(300)]


def cases() -> list[Any]:
    """Every example whose workspace is there; the others need the network first."""
    return [
        pytest.param(
            task,
            id=task.name,
            marks=[] if (task / "environment" / "workspace").is_dir() else [pytest.mark.network],
        )
        for task in TASKS
    ]


def calls_of(task: Path) -> list[tuple[int, str, dict[str, Any]]]:
    """Step, tool and arguments of every call of the example's script."""
    replies = json.loads((task / "script.json").read_text())["replies"]
    return [
        (step, call["name"], call["arguments"])
        for step, reply in enumerate(replies, 1)
        for call in reply["calls"]
    ]


def program_of(arguments: dict[str, Any]) -> str:
    """The program of a call of `run_command`; "" of other calls."""
    return str((arguments.get("argv") or [""])[0])


def writes_and_code(task: Path) -> list[tuple[int, str, str]]:
    """What an example's script writes, and which code of its workspace it runs."""
    found = []
    for step, tool, arguments in calls_of(task):
        if tool in WRITING:
            found.append((step, tool, f"{tool} {arguments['path']}"))
        elif program_of(arguments) == "python3":
            found.append((step, tool, " ".join(arguments["argv"])))
    return found


@pytest.mark.parametrize("task", cases())
def test_readonly_refuses_exactly_the_writes_and_the_runs_of_code(
    stockade: Stockade, task: Path
) -> None:
    if not (task / "environment" / "workspace").is_dir():
        pytest.skip("its source is not fetched: make examples")
    script = f"scripted:{task / 'script.json'}"
    done = stockade("run", task, "--model", script, "--runner", "bubblewrap")
    assert done.code == 0, done.err
    again = stockade("runs", "redecide", done.folder, "--policy", "readonly", "--json")
    found = json.loads(again.out)["decisions"]
    listed = [(one["step"], one["tool"], one["action"]) for one in found]
    assert (again.code, listed) == (1, writes_and_code(task))
    assert {(one["before"], one["after"]) for one in found} == {("allow", "deny")}


def test_the_scripts_run_nothing_else_that_readonly_would_refuse() -> None:
    programs = {program_of(given) for task in TASKS for _, _, given in calls_of(task)}
    assert programs - REFUSED_BEFORE == {"", "python3", "git"}
