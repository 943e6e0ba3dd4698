"""The CI kits: their steps run as scripts, and their files are what the services expect."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import yaml

from tests.e2e.conftest import SOLUTION, TaskFolder

ROOT = Path(__file__).resolve().parents[2]
KITS = ROOT / "examples" / "ci"
INPUT = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")


@pytest.fixture
def job(stockade: Any, tmp_path: Path) -> dict[str, str]:
    """The environment of a job whose PATH has the command."""
    command = tmp_path / "bin" / "stockade"
    command.parent.mkdir()
    words = " ".join(f"'{word}'" for word in stockade.argv())
    command.write_text(f'#!/bin/bash\nexec {words} "$@"\n')
    command.chmod(0o755)
    TaskFolder(tmp_path / "tasks" / "good")
    bad = TaskFolder(tmp_path / "tasks" / "bad")
    bad.write("solution/solve.sh", SOLUTION.replace("a + b", "a * a * a"))
    path = f"{command.parent}:{os.environ['PATH']}"
    return {**stockade.environ, "PATH": path, "PYTHONPATH": str(ROOT)}


def bash(text: str, environ: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", text],
        env=environ, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


def told(folder: Path) -> tuple[str | None, str | None, str]:
    """Tests and failures of JUnit, and the first line of the summary."""
    suite = ET.parse(folder / "junit.xml").getroot()
    first = (folder / "summary.md").read_text().splitlines()[0]
    return suite.get("tests"), suite.get("failures"), first


def test_the_github_action_runs_tasks_and_passes_the_verdict_on(
    stockade: Any, job: dict[str, str], tmp_path: Path, quick_box: str
) -> None:
    action = yaml.safe_load((KITS / "github" / "action.yml").read_text())
    (step,) = [s for s in action["runs"]["steps"] if s.get("id") == "batch"]
    inputs = {name: str(said.get("default", "")) for name, said in action["inputs"].items()}
    inputs |= {"tasks": "tasks", "agent": "oracle", "runner": quick_box}
    inputs["arguments"] = f"--policy {stockade.policy}"
    filled = {k: INPUT.sub(lambda m: inputs[m[1]], v) for k, v in step["env"].items()}
    files = {n: str(tmp_path / n) for n in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    done = bash(step["run"], {**job, **filled, **files}, tmp_path)
    assert done.returncode == 1, done.stderr
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "exit-code=1\n"
    assert "1 of 2 tasks passed" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    assert told(tmp_path / "stockade-out") == ("2", "1", "## stockade: 1 of 2 tasks passed")


@pytest.mark.slow
def test_the_gitlab_template_runs_tasks_and_passes_the_verdict_on(
    stockade: Any, job: dict[str, str], tmp_path: Path, quick_box: str
) -> None:
    kit = yaml.safe_load((KITS / "gitlab" / "stockade.gitlab-ci.yml").read_text())[".stockade"]
    own = ("DOCKER_", "XDG_")
    variables = {k: v for k, v in kit["variables"].items() if not k.startswith(own)}
    variables |= {"STOCKADE_AGENT": "oracle", "STOCKADE_BOX": quick_box}
    variables["STOCKADE_ARGUMENTS"] = f"--policy {stockade.policy} --min-pass 0.5"
    done = bash("\n".join(kit["script"]), {**job, **variables}, tmp_path)
    assert done.returncode == 0, done.stderr
    assert told(tmp_path / "stockade-out") == ("2", "1", "## stockade: 1 of 2 tasks passed")


def test_every_input_of_the_action_is_used_and_every_output_comes_from_a_step() -> None:
    text = (KITS / "github" / "action.yml").read_text()
    action = yaml.safe_load(text)
    steps = {step.get("id") for step in action["runs"]["steps"]}
    wanted = {re.findall(r"steps\.(\w+)\.", o["value"])[0] for o in action["outputs"].values()}
    assert (set(INPUT.findall(text)), wanted <= steps) == (set(action["inputs"]), True)


def test_no_step_puts_an_input_into_its_script() -> None:
    action = yaml.safe_load((KITS / "github" / "action.yml").read_text())
    assert [s["name"] for s in action["runs"]["steps"] if "${{" in s.get("run", "")] == []


def test_the_image_of_the_harness_takes_in_files_that_are_there() -> None:
    lines = (KITS / "Dockerfile").read_text().splitlines()
    named = [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]
    packages = {"policies", "runners", "harness", "sandbox_images", "pyproject.toml"}
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert packages <= set(named)


@pytest.mark.network
@pytest.mark.slow
def test_the_services_own_schemas_accept_the_kits(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(tmp_path)]
    subprocess.run([*pip, "check-jsonschema==0.29.4"], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    place = "check_jsonschema/builtin_schemas/vendor"
    cases = {
        "github-actions.json": KITS / "github" / "action.yml",
        "github-workflows.json": KITS / "github" / "workflow.yml",
        "gitlab-ci.json": KITS / "gitlab" / "stockade.gitlab-ci.yml",
    }
    with zipfile.ZipFile(wheel) as file:
        for name, path in cases.items():
            schema = json.loads(file.read(f"{place}/{name}"))
            text = re.sub(r"^on:", '"on":', path.read_text(), flags=re.MULTILINE)
            jsonschema.validate(yaml.safe_load(text), schema)
