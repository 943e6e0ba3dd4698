from __future__ import annotations

from pathlib import Path

import pytest

from harness.task import Check, Kept, Problem, TaskError, load_task

MINIMAL = 'schema_version = "1.4"\n[environment]\nnetwork_mode = "no-network"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "task"
    (root / "tests").mkdir(parents=True)
    (root / "tests" / "test.sh").write_text("#!/bin/bash\n")
    (root / "instruction.md").write_text("Mend it.\n")
    (root / "task.toml").write_text(MINIMAL)
    return root


def problems(folder: Path, text: str | None = None, **options: bool) -> list[str]:
    """Each problem as `file: key`."""
    if text is not None:
        (folder / "task.toml").write_text(text)
    with pytest.raises(TaskError) as caught:
        load_task(folder, environ={}, **options)
    return [f"{problem.file}: {problem.key}" for problem in caught.value.problems]


def test_a_minimal_folder_is_a_task_with_the_script_as_its_verifier(folder: Path) -> None:
    task = load_task(folder)
    assert (task.name, task.instruction, task.check) == ("task", "Mend it.\n", Check())


def test_our_own_table_says_policy_image_workspace_script_and_the_strong_verifier(
    folder: Path,
) -> None:
    (folder / "ws").mkdir()
    (folder / "script.json").write_text("{}")
    (folder / "tests" / "test_it.py").write_text("")
    (folder / "task.toml").write_text(
        MINIMAL
        + """
        [metadata.stockade]
        policy = "python-dev"
        image = "python"
        workspace = "ws"
        script = "script.json"
        left_out = ["conftest.py"]
        [metadata.stockade.verify]
        argv = ["python3", "-m", "pytest", "$STOCKADE_TESTS"]
        tests = ["test_it.py::test_one"]
        """
    )
    task = load_task(folder)
    assert (task.policy, task.image, task.workspace, task.script) == (
        "python-dev",
        "python",
        folder / "ws",
        folder / "script.json",
    )
    assert task.check == Check(
        argv=("python3", "-m", "pytest", "$STOCKADE_TESTS"),
        tests=("test_it.py::test_one",),
        left_out=("conftest.py",),
    )


@pytest.mark.parametrize("source", ["/etc/x", "//etc/x", "///etc//./x", "etc/x"])
def test_what_is_kept_goes_below_its_folder_however_its_path_is_written(
    folder: Path, source: str
) -> None:
    (folder / "task.toml").write_text(f'artifacts = ["{source}"]\n{MINIMAL}')
    assert load_task(folder).kept == (Kept(source, "etc/x"),)


def test_old_names_are_read_as_the_new_ones(folder: Path) -> None:
    (folder / "task.toml").write_text(
        'version = "1.0"\n[environment]\nmemory = "2G"\nstorage = "512M"\nallow_internet = false\n'
    )
    task = load_task(folder)
    assert (task.memory_mib, task.disk_mib, task.warnings) == (2048, 512, ())


def test_everything_wrong_is_said_at_once_with_file_and_key(folder: Path) -> None:
    (folder / "instruction.md").unlink()
    text = """
        schema_version = "9.9"
        [task]
        name = "no organisation"
        [environment]
        cpus = "two"
        memory = "lots"
        [metadata.stockade]
        polcy = "python-dev"
        [metadata.stockade.verify]
        argv = []
        tests = ["not an id"]
    """
    assert sorted(problems(folder, text)) == sorted(
        [
            "instruction.md: ",
            "task.toml: schema_version",
            "task.toml: task.name",
            "task.toml: environment.cpus",
            "task.toml: environment.memory",
            "task.toml: metadata.stockade.polcy",
            "task.toml: metadata.stockade.verify.argv",
            "task.toml: metadata.stockade.verify.tests[0]",
        ]
    )


def test_a_problem_reads_as_file_key_fault_and_fix(folder: Path) -> None:
    (folder / "task.toml").write_text(MINIMAL + "cpus = true\n")
    with pytest.raises(TaskError) as caught:
        load_task(folder)
    assert [str(problem) for problem in caught.value.problems] == [
        "task.toml: environment.cpus: input should be a valid number, not True; write a number"
    ]


def test_a_task_error_is_the_operators_mistake(folder: Path) -> None:
    assert TaskError("x", [Problem("f", "k", "m", "x")]).exit_code == 2


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="no such folder"):
        load_task(tmp_path / "nowhere")


def test_a_file_that_is_no_toml_is_a_problem_of_that_file(folder: Path) -> None:
    assert problems(folder, "schema_version = ") == ["task.toml: "]


def test_silence_on_the_network_runs_without_one_and_warns(folder: Path) -> None:
    (folder / "task.toml").write_text('schema_version = "1.4"\n')
    (warning,) = load_task(folder).warnings
    assert "environment.network_mode" in warning


def test_strict_network_refuses_a_task_that_is_silent(folder: Path) -> None:
    text = 'schema_version = "1.4"\n'
    assert problems(folder, text, strict_network=True) == ["task.toml: environment.network_mode"]


@pytest.mark.parametrize("mode", ["public", "allowlist"])
@pytest.mark.parametrize("table", ["environment", "agent", "verifier"])
def test_an_explicit_network_is_refused(folder: Path, table: str, mode: str) -> None:
    text = f'schema_version = "1.4"\n[{table}]\nnetwork_mode = "{mode}"\n'
    assert problems(folder, text) == [f"task.toml: {table}.network_mode"]


def test_a_compose_file_is_refused(folder: Path) -> None:
    (folder / "environment").mkdir()
    (folder / "environment" / "docker-compose.yaml").write_text("services: {}\n")
    assert problems(folder) == ["environment/docker-compose.yaml: "]


def test_only_built_in_profiles_may_be_named_by_a_task(folder: Path) -> None:
    text = MINIMAL + '[metadata.stockade]\npolicy = "./mine.toml"\n'
    assert problems(folder, text) == ["task.toml: metadata.stockade.policy"]


def test_a_link_out_of_the_task_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (folder / "ws").symlink_to(tmp_path / "elsewhere")
    text = MINIMAL + '[metadata.stockade]\nworkspace = "ws"\n'
    assert problems(folder, text) == ["ws: "]


@pytest.mark.parametrize("path", ["../ws", "/etc", "a/../../b"])
def test_a_path_out_of_the_task_folder_is_refused(folder: Path, path: str) -> None:
    text = MINIMAL + f'[metadata.stockade]\nworkspace = "{path}"\n'
    assert problems(folder, text) == ["task.toml: metadata.stockade.workspace"]


def test_an_unknown_key_is_warned_of_with_the_nearest_known_one(folder: Path) -> None:
    (folder / "task.toml").write_text(MINIMAL + "cpu = 2\n")
    assert load_task(folder).warnings == (
        "task.toml: environment.cpu: unknown key, ignored; did you mean cpus?",
    )


def test_variables_come_from_the_operator_or_their_default(folder: Path) -> None:
    (folder / "task.toml").write_text(
        MINIMAL + '[environment.env]\nA = "${HERE}"\nB = "x${GONE:-y}"\n'
    )
    task = load_task(folder, environ={"HERE": "here"})
    assert task.env == (("A", "here"), ("B", "xy"))


def test_a_variable_that_is_not_set_is_a_problem(folder: Path) -> None:
    text = MINIMAL + '[environment.env]\nA = "${GONE}"\n'
    assert problems(folder, text) == ["task.toml: environment.env.A"]


@pytest.mark.parametrize(
    ("lines", "key"),
    [
        ('[environment]\nos = "windows"', "environment.os"),
        ("[environment]\ngpus = 1", "environment.gpus"),
        ("[[environment.mcp_servers]]\nname = 'x'\nurl = 'x'", "environment.mcp_servers"),
        ("[[verifier.collect]]\ncommand = 'x'\nservice = 'db'", "verifier.collect[0].service"),
        ("[verifier.environment]\nos = 'Windows'", "verifier.environment.os"),
        ("[agent]\nuser = 'root'", "agent.user"),
    ],
)
def test_what_no_box_can_give_is_refused_by_name(folder: Path, lines: str, key: str) -> None:
    assert problems(folder, f'schema_version = "1.4"\n{lines}\n') == [f"task.toml: {key}"]


def test_a_folder_without_a_verifier_is_warned_of(folder: Path) -> None:
    (folder / "tests" / "test.sh").unlink()
    task = load_task(folder)
    assert (task.check, ["not be verified" in line for line in task.warnings]) == (None, [True])
