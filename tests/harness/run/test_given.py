"""Which variables of the operator's a task may read."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.config import Config, TaskRules
from harness.errors import ConfigError
from harness.run import RunOptions, make_job
from harness.run.given import given_variables
from harness.run.options import options_from_json, options_to_json
from harness.task import TaskError, load_task

ENVIRON = {"CI_COMMIT": "abc", "OTHER": "o", "OPENAI_API_KEY": "sk-1", "MINE": "m", "DB": "d"}


@pytest.fixture
def task(tmp_path: Path) -> Path:
    folder = tmp_path / "task"
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "test.sh").write_text("#!/bin/bash\n")
    (folder / "instruction.md").write_text("Mend it.\n")
    (folder / "task.toml").write_text(
        'schema_version = "1.4"\n[environment]\nnetwork_mode = "no-network"\n'
        'env = {A = "${CI_COMMIT}", B = "${OTHER:-default}"}\n'
    )
    return folder


def test_only_what_is_named_and_set_is_given() -> None:
    config = Config(task=TaskRules(("OTHER", "UNSET")))
    assert given_variables(["CI_COMMIT"], config, ENVIRON) == {"CI_COMMIT": "abc", "OTHER": "o"}
    assert given_variables([], Config(), ENVIRON) == {}


def test_a_task_reads_nothing_of_the_environment_that_was_not_named(task: Path) -> None:
    options = RunOptions(task=task, agent="nop")
    with pytest.raises(TaskError) as caught:
        make_job(options, {**ENVIRON, "XDG_CONFIG_HOME": str(task)})
    (problem,) = caught.value.problems
    assert str(problem) == (
        "task.toml: environment.env.A: the variable CI_COMMIT is not given to tasks, or not set; "
        "set it and add --task-env CI_COMMIT, or write ${CI_COMMIT:-default}"
    )


def test_a_variable_that_was_named_is_filled_in_and_another_takes_its_default(task: Path) -> None:
    options = RunOptions(task=task, agent="nop", task_env=("CI_COMMIT",))
    job = make_job(options, {**ENVIRON, "XDG_CONFIG_HOME": str(task)})
    assert job.task.env == (("A", "abc"), ("B", "default"))


def test_the_library_gives_a_task_nothing_unless_it_is_told(
    task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI_COMMIT", "abc")
    with pytest.raises(TaskError, match="CI_COMMIT is not given to tasks"):
        load_task(task)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MINE", "DB"])
@pytest.mark.parametrize("by_flag", [True, False], ids=["flag", "configuration"])
def test_a_secret_is_refused_even_where_it_is_named(name: str, by_flag: bool) -> None:
    config = Config(
        models={"m": {"key_env": "MINE"}},
        record={"secrets": ["DB"]},
        task=TaskRules(() if by_flag else (name,)),
    )
    where = "--task-env" if by_flag else r"\[task\] env"
    with pytest.raises(ConfigError, match=f"^{where}: {name} is a model's key or one of"):
        given_variables([name] if by_flag else [], config, ENVIRON)


@pytest.mark.parametrize("name", ["A=b", "$A", "", "1A", "A\n"])
def test_what_is_no_name_is_the_operators_mistake(name: str) -> None:
    with pytest.raises(ConfigError, match="is no name of a variable"):
        given_variables([name], Config(), ENVIRON)


def test_a_run_that_is_taken_up_gives_its_task_the_same_names() -> None:
    options = RunOptions(instruction="x", task_env=("CI_COMMIT",))
    assert options_from_json(options_to_json(options)) == options
