"""The first layout of Terminal-Bench."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.task import Check, TaskError, load_task

YAML = """\
instruction: |-
  Write hello
  into hello.txt.
author_email: nobody@example.org
difficulty: easy
tags: [files]
parser_name: pytest
max_agent_timeout_sec: 120
max_test_timeout_sec: 30
"""
COMPOSE = "services:\n  client:\n    build: .\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "task.yaml": YAML,
        "run-tests.sh": "#!/bin/bash\n",
        "solution.sh": "#!/bin/bash\n",
        "Dockerfile": "FROM python:3.12\nWORKDIR /work\nWORKDIR here\n",
        "docker-compose.yaml": COMPOSE,
        "tests/test_outputs.py": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def keys(folder: Path) -> list[tuple[str, str]]:
    with pytest.raises(TaskError) as caught:
        load_task(folder)
    return [(problem.file, problem.key) for problem in caught.value.problems]


def test_its_scripts_and_limits_are_read(folder: Path) -> None:
    task = load_task(folder)
    assert (task.instruction, task.agent_seconds, task.workdir) == (
        "Write hello\ninto hello.txt.",
        120.0,
        "/work/here",
    )
    assert (task.solve, task.dockerfile) == (folder / "solution.sh", folder / "Dockerfile")
    assert task.check == Check(
        argv=("bash", "$STOCKADE_TESTS/run-tests.sh"),
        seconds=30.0,
        env=(("TEST_DIR", "$STOCKADE_TESTS"),),
        beside=(folder / "run-tests.sh",),
    )


def test_further_services_are_refused_by_name(folder: Path) -> None:
    (folder / "docker-compose.yaml").write_text(COMPOSE + "  db:\n    image: postgres\n")
    assert keys(folder) == [("docker-compose.yaml", "services")]


def test_everything_wrong_is_told_at_once(folder: Path) -> None:
    (folder / "run-tests.sh").unlink()
    (folder / "task.yaml").write_text("max_agent_timeout_sec: soon\n")
    assert sorted(keys(folder)) == [
        ("run-tests.sh", ""),
        ("task.yaml", "instruction"),
        ("task.yaml", "max_agent_timeout_sec"),
    ]


@pytest.mark.parametrize("text", ["a: [", "- just\n- a list\n", "instruction: ''\n"])
def test_a_file_that_cannot_be_read_is_a_problem_of_that_file(folder: Path, text: str) -> None:
    (folder / "task.yaml").write_text(text)
    assert {file for file, _ in keys(folder)} == {"task.yaml"}


def test_no_tag_of_yaml_makes_an_object(folder: Path) -> None:
    (folder / "task.yaml").write_text("instruction: !!python/object/apply:os.getcwd []\n")
    assert keys(folder) == [("task.yaml", "")]


def test_a_strict_operator_refuses_its_silence_on_the_network(folder: Path) -> None:
    with pytest.raises(TaskError, match="says nothing of the network"):
        load_task(folder, strict_network=True)
