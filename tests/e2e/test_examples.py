"""Every example in every box: a script and the reference solution pass, doing nothing does not."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from policies import Isolation
from sandbox_images.tree import tree_digest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TASKS = sorted(path.parent.name for path in EXAMPLES.glob("*/task.toml"))
BOXES = {"docker": [pytest.mark.docker], "bubblewrap": [pytest.mark.bubblewrap], "process": []}
pytestmark = pytest.mark.timeout(300)

AGENTS = ("script", "oracle", "nop")


@dataclass(frozen=True)
class Run:
    """What a run left."""

    code: int
    words: str
    folder: Path

    @property
    def result(self) -> dict[str, Any]:
        return json.loads((self.folder / "result.json").read_text())

    def events(self, kind: str) -> list[dict[str, Any]]:
        lines = (self.folder / "events.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["type"] == kind]


def fetched(task: str) -> bool:
    """Whether a task's workspace is there without a network."""
    return (EXAMPLES / task / "environment" / "workspace").is_dir()


def cases() -> list[Any]:
    """The demo's runs are quick ones; the others are for `make test-all`."""
    return list(each_case())


def each_case() -> Iterator[Any]:
    for task in TASKS:
        for box, marks in BOXES.items():
            for agent in AGENTS:
                more = [] if task == "demo" and agent == "script" else [pytest.mark.slow]
                if not fetched(task):
                    more.append(pytest.mark.network)
                yield pytest.param(task, box, agent, marks=[*marks, *more])


@cache
def box_flags(box: str) -> tuple[str, ...]:
    """What a box needs to be told here; skips where it cannot keep its promises."""
    flags = ("--runner", box)
    if box != "process":
        return flags
    from runners.process import ProcessRunner

    probe = asyncio.run(ProcessRunner().probe())
    if not probe.ok:
        pytest.skip(f"the process box cannot be used here: {probe.reason}")
    if probe.isolation is Isolation.PROCESS:
        return (*flags, "--accept-isolation", "process")
    return flags


def run_task(task: str, box: str, agent: str, folder: Path) -> Run:
    """Run an example as an operator would."""
    program = Path(sys.executable).with_name("stockade")
    argv = [str(program), "run", str(EXAMPLES / task), *box_flags(box), "--out", str(folder)]
    if agent == "script":
        argv += ["--model", f"scripted:{EXAMPLES / task / 'script.json'}"]
    else:
        argv += ["--agent", agent]
    env = {**os.environ, "XDG_STATE_HOME": str(folder.parent / "state"), "NO_COLOR": "1"}
    done = subprocess.run(argv, capture_output=True, text=True, env=env, check=False)
    return Run(done.returncode, done.stderr, folder)


@pytest.fixture(scope="session")
def sources(request: pytest.FixtureRequest) -> None:
    """The sources of the real examples, fetched where they are missing."""
    if all(fetched(task) for task in TASKS):
        return
    argv = [sys.executable, str(EXAMPLES / "fetch.py")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("task", "box", "agent"), cases())
def test_an_example_ends_as_its_agent_deserves(task, box, agent, request, tmp_path):
    if task != "demo":
        request.getfixturevalue("sources")
    workspace = EXAMPLES / task / "environment" / "workspace"
    before = tree_digest(workspace)
    run = run_task(task, box, agent, tmp_path / "run")
    assert tree_digest(workspace) == before
    code, verdict = (1, "failed") if agent == "nop" else (0, "passed")
    assert run.code == code, run.words
    assert run.result["verdict"] == verdict
    patch = (run.folder / "patch.diff").read_bytes()
    if agent == "nop":
        assert patch == b""
    else:
        assert applies(patch, workspace, tmp_path)
    if agent == "script":
        check_script(run)


def applies(patch: bytes, workspace: Path, tmp_path: Path) -> bool:
    """Whether git takes a patch on a copy of the untouched original."""
    original = tmp_path / "original"
    shutil.copytree(workspace, original)
    git = ["git", "-c", "safe.directory=*", "apply", "--check", "-"]
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    done = subprocess.run(git, cwd=original, input=patch, capture_output=True, env=env, check=False)
    return done.returncode == 0


def check_script(run: Run) -> None:
    """The scripted model said all it had, and recovered from a wrong turn."""
    replies = run.events("model/reply")
    task = str(run.events("run/start")[0]["task"]).rpartition("/")[2]
    script = json.loads((EXAMPLES / task / "script.json").read_text())
    assert len(replies) == len(script["replies"])
    results = run.events("tool/result")
    assert not all(event["ok"] for event in results), "no wrong turn was seen"


@pytest.mark.parametrize("task", TASKS)
def test_an_example_says_what_it_is(task):
    folder = EXAMPLES / task
    assert (folder / "instruction.md").stat().st_size > 100
    assert (folder / "README.md").read_text().startswith(f"# {task}\n")
    assert f"`{task}`" in (EXAMPLES / "README.md").read_text()
    assert os.access(folder / "solution" / "solve.sh", os.X_OK)
    assert os.access(folder / "tests" / "test.sh", os.X_OK)


def test_at_least_three_examples_are_bugs_of_released_packages():
    real = [task for task in TASKS if (EXAMPLES / task / "source.toml").is_file()]
    assert len(real) >= 3
    for task in real:
        assert "https://github.com/" in (EXAMPLES / task / "README.md").read_text()
