from __future__ import annotations

from pathlib import Path

import pytest

from harness.config import Config, TaskRules, load_config, runs_folder
from harness.errors import ConfigError


def environment(tmp_path: Path, text: str | None = None, **more: str) -> dict[str, str]:
    folder = tmp_path / "stockade"
    folder.mkdir(exist_ok=True)
    if text is not None:
        (folder / "config.toml").write_text(text)
    return {"XDG_CONFIG_HOME": str(tmp_path), **more}


def test_without_a_file_nothing_is_set(tmp_path: Path) -> None:
    assert load_config(environment(tmp_path)) == Config()


def test_the_environment_stands_above_the_file(tmp_path: Path) -> None:
    environ = environment(
        tmp_path, 'runner = "docker"\npolicy = "readonly"\n', STOCKADE_RUNNER="bubblewrap"
    )
    assert load_config(environ) == Config(runner="bubblewrap", policy="readonly")


def test_every_wrong_key_is_named_with_its_file(tmp_path: Path) -> None:
    environ = environment(tmp_path, "runer = 1\npolicy = 2\n")
    with pytest.raises(ConfigError) as caught:
        load_config(environ)
    lines = str(caught.value).splitlines()
    assert [line.partition("config.toml: ")[2].partition(":")[0] for line in lines] == [
        "runer",
        "policy",
    ]


def test_a_file_that_is_no_toml_is_the_operators_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.toml"):
        load_config(environment(tmp_path, "runner ="))


def test_a_file_that_is_nested_too_deeply_is_the_operators_mistake(tmp_path: Path) -> None:
    deep = "a = " + "[" * 3000 + "]" * 3000
    with pytest.raises(ConfigError, match=r"config\.toml: is nested too deeply"):
        load_config(environment(tmp_path, deep))


def test_variables_for_tasks_are_a_list_of_names(tmp_path: Path) -> None:
    environ = environment(tmp_path, '[task]\nenv = ["CI_COMMIT"]\n')
    assert load_config(environ).task == TaskRules(("CI_COMMIT",))


@pytest.mark.parametrize(
    "text", ["task = 1", "task.env = 'X'", "task.env = [1]", "task.env = ['']", "task.other = []"]
)
def test_a_wrong_table_about_tasks_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"config\.toml: task"):
        load_config(environment(tmp_path, text))


def test_runs_live_in_the_state_folder() -> None:
    assert runs_folder({"XDG_STATE_HOME": "/s"}) == Path("/s/stockade/runs")


def test_a_relative_state_folder_counts_as_unset() -> None:
    environ = {"XDG_STATE_HOME": "here", "HOME": "/home/me"}
    assert runs_folder(environ) == Path("/home/me/.local/state/stockade/runs")
