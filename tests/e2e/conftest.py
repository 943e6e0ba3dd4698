"""The command line, started as its users start it, over the boxes that this machine has."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

POLICY = """
schema = 1
name = "e2e"
isolation = "process"
[tools]
allow = ["read_file PATH", "write_file PATH:rw", "edit_file PATH:rw", "list_dir PATH"]
[[rule]]
name = "python"
program = "python3"
isolation = "process"
runs_code = true
allow = ["python3 ANY..."]
ask = ["python3 --version"]
"""

BOXES = [
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    "process",
]


@cache
def process_fault() -> str:
    """Why the process box cannot be used here, or nothing."""
    from runners import ProcessRunner

    probe = asyncio.run(ProcessRunner().probe())
    return "" if probe.ok else probe.reason


@pytest.fixture(params=BOXES)
def box(request: pytest.FixtureRequest) -> str:
    """Each box in turn."""
    if request.param == "process" and process_fault():
        pytest.skip(process_fault())
    name: str = request.param
    return name


@pytest.fixture(
    params=[
        pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.slow]),
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
        pytest.param("process", marks=pytest.mark.slow),
    ]
)
def each_box(request: pytest.FixtureRequest) -> str:
    """Each box in turn, only one of them without the slow tests."""
    if request.param == "process" and process_fault():
        pytest.skip(process_fault())
    name: str = request.param
    return name


@pytest.fixture
def quick_box() -> str:
    """One box that starts fast, for promises that are not about boxes."""
    if not process_fault():
        return "process"
    return "bubblewrap"


@pytest.fixture(scope="session", autouse=True)
def image() -> None:
    """The image that all of them share, built once for the machine."""
    import sandbox_images

    sandbox_images.build("python", host_fallback=True, progress=lambda _: None)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the demo: a run that is taken up insists on the very task that it was made of."""
    found = Path(__file__).parents[2] / "examples" / "demo"
    kept = tmp_path_factory.mktemp("examples") / "demo"
    return Path(shutil.copytree(found, kept, ignore=shutil.ignore_patterns("__pycache__", ".*")))


@dataclass(frozen=True)
class Done:
    """A finished command line."""

    code: int
    out: str
    err: str
    state: Path

    @property
    def result(self) -> dict[str, Any]:
        """``result.json`` of the only run."""
        (path,) = self.state.glob("stockade/runs/*/result.json")
        value: dict[str, Any] = json.loads(path.read_text())
        return value

    @property
    def folder(self) -> Path:
        """The only run folder."""
        (path,) = self.state.glob("stockade/runs/*")
        return path

    @property
    def events(self) -> list[dict[str, Any]]:
        """The records of its log."""
        lines = (self.folder / "events.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


class Stockade:
    """Starts the command line with folders of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.state = root / "state"
        self.policy = root / "policy.toml"
        self.policy.write_text(POLICY)
        self.started: list[subprocess.Popen[bytes]] = []

    @property
    def environ(self) -> dict[str, str]:
        kept = {"PATH", "HOME", "LANG", "DOCKER_HOST", "DOCKER_API_VERSION", "XDG_CACHE_HOME"}
        environ = {key: value for key, value in os.environ.items() if key in kept}
        return {
            **environ,
            "XDG_STATE_HOME": str(self.state),
            "XDG_CONFIG_HOME": str(self.root / "config"),
        }

    def argv(self, *words: str | Path) -> list[str]:
        code = "from harness.cli import main; main()"
        return [sys.executable, "-c", code, *map(str, words)]

    def __call__(
        self, *words: str | Path, stdin: bytes = b"", environ: dict[str, str] | None = None
    ) -> Done:
        done = subprocess.run(
            self.argv(*words),
            env={**self.environ, **(environ or {})},
            input=stdin,
            capture_output=True,
            check=False,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        return Done(done.returncode, out, err, self.state)

    def start(self, *words: str | Path) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            self.argv(*words),
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.started.append(process)
        return process

    def close(self) -> None:
        """End what a failed test left behind."""
        for process in self.started:
            process.kill()
            process.communicate()

    def run(self, task: Path, *words: str | Path) -> Done:
        """``stockade run`` under the small policy."""
        return self("run", task, "--policy", self.policy, *words)

    def exec(self, *words: str | Path, stdin: bytes = b"") -> Done:
        """``stockade exec`` under the small policy."""
        return self("exec", "--policy", self.policy, *words, stdin=stdin)


@pytest.fixture
def stockade(tmp_path: Path) -> Iterator[Stockade]:
    """The command line with a state folder of this test's own."""
    command = Stockade(tmp_path)
    yield command
    command.close()


BUG = "def add(a, b):\n    return a - b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n"
TASK = """
schema_version = "1.4"
[task]
name = "e2e/calc"
[environment]
network_mode = "no-network"
[metadata.stockade]
workspace = "environment/workspace"
"""
STRONG = """
[metadata.stockade.verify]
argv = ["python3", "-m", "pytest", "-q", "tests"]
tests = ["tests/test_calc.py::test_add"]
"""
SOLUTION = "#!/bin/bash\nset -e\nsed -i 's/a - b/a + b/' calc.py\n"


class TaskFolder:
    """A small task with a real bug: its tests lie in the workspace, as those of a project do."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write("task.toml", TASK + STRONG)
        self.write("instruction.md", "The sum is wrong; mend calc.py.\n")
        self.write("environment/workspace/calc.py", BUG)
        self.write("environment/workspace/tests/test_calc.py", TEST)
        self.write("solution/solve.sh", SOLUTION)

    @property
    def workspace(self) -> Path:
        return self.path / "environment" / "workspace"

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def script(self, *replies: list[tuple[str, dict[str, Any]]]) -> str:
        """A scripted model; each reply is a list of calls."""
        record = {
            "schema": 1,
            "replies": [
                {"text": "", "calls": [{"name": name, "arguments": given} for name, given in calls]}
                for calls in replies
            ],
        }
        return f"scripted:{self.write('script.json', json.dumps(record))}"


@pytest.fixture
def task(tmp_path: Path) -> TaskFolder:
    """The small task."""
    return TaskFolder(tmp_path / "task")
