from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.run import BoxOptions, RunOptions, make_job
from policies import Isolation

POLICY = """
schema = 1
name = "small"
isolation = "process"
[limits]
memory_mib = 256
[budgets]
steps = 10
tool_calls = 20
wall_seconds = 100
"""


@pytest.fixture
def policy(tmp_path: Path) -> str:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    return str(path)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


def options(policy: str | None, **more) -> RunOptions:
    box = {key: more.pop(key) for key in list(more) if key in BoxOptions.__slots__}
    return RunOptions(BoxOptions(policy=policy, **box), instruction="x", agent="nop", **more)


def test_flags_lower_the_budgets_of_the_policy(policy, environ) -> None:
    job = make_job(options(policy, max_steps=3, max_tool_calls=4, timeout=5), environ)
    assert (job.budgets.steps, job.budgets.tool_calls, job.budgets.wall_seconds) == (3, 4, 5)


def test_flags_cannot_raise_the_budgets_and_it_is_said(policy, environ) -> None:
    job = make_job(options(policy, max_steps=30, max_tool_calls=40, timeout=500), environ)
    assert (job.budgets.steps, job.budgets.tool_calls, job.budgets.wall_seconds) == (10, 20, 100)
    assert [note.partition(" ")[0] for note in job.notes] == [
        "--max-steps",
        "--max-tool-calls",
        "--timeout",
    ]


def test_a_project_policy_only_restricts(policy, environ, tmp_path) -> None:
    project = tmp_path / "project.toml"
    project.write_text('schema = 1\nname = "project"\n[budgets]\nsteps = 3\n')
    job = make_job(options(policy, project_policy=project), environ)
    plain = make_job(options(policy), environ)
    assert (job.budgets.steps, plain.budgets.steps) == (3, 10)
    assert job.policy.digest != plain.policy.digest


def write_config(environ: dict[str, str], text: str) -> None:
    path = Path(environ["XDG_CONFIG_HOME"]) / "stockade" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_a_flag_stands_above_the_environment_above_the_file(policy, environ) -> None:
    write_config(environ, 'runner = "docker"\nimage = "from-file"\nruntime = "from-file"\n')
    environ |= {"STOCKADE_IMAGE": "from-environment", "STOCKADE_RUNTIME": "from-environment"}
    wish = make_job(options(policy, runtime="from-flag"), environ).wish
    assert (wish.runner, wish.image, wish.runtime) == ("docker", "from-environment", "from-flag")


def test_defaults_are_auto_and_python(policy, environ) -> None:
    wish = make_job(options(policy), environ).wish
    assert (wish.runner, wish.accept, wish.image, wish.runtime) == ("auto", None, "python", None)


def test_the_configuration_may_accept_a_weaker_box(policy, environ) -> None:
    write_config(environ, 'accept_isolation = "process"\n')
    assert make_job(options(policy), environ).wish.accept is Isolation.PROCESS


def test_both_task_and_instruction_are_too_much(policy, environ, tmp_path) -> None:
    with pytest.raises(ConfigError, match="exactly one"):
        make_job(options(policy, task=tmp_path), environ)


@pytest.mark.parametrize("flags", [{"in_place": True}, {"apply": True}])
def test_what_changes_a_workspace_needs_one_by_name(policy, environ, flags) -> None:
    with pytest.raises(ConfigError, match="--workspace"):
        make_job(options(policy, **flags), environ)


def test_in_place_and_apply_exclude_each_other(policy, environ, tmp_path) -> None:
    with pytest.raises(ConfigError, match="--apply"):
        make_job(options(policy, workspace=tmp_path, in_place=True, apply=True), environ)


def test_the_oracle_needs_a_solution(policy, environ) -> None:
    wanted = RunOptions(BoxOptions(policy=policy), instruction="x", agent="oracle")
    with pytest.raises(ConfigError, match=r"solution/solve\.sh"):
        make_job(wanted, environ)


@pytest.mark.req("S-198")
def test_without_a_model_the_operator_is_told_what_to_set(policy, environ) -> None:
    wanted = RunOptions(BoxOptions(policy=policy), instruction="x")
    with pytest.raises(ConfigError, match="--model"):
        make_job(wanted, environ)
