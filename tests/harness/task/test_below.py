"""What strangers put into a task folder: links, pipes, huge and deep files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.task import TaskError, load_task, read_below
from harness.task.authoring import lint_task

HARBOR = {
    "task.toml": 'schema_version = "1.4"\n[environment]\nnetwork_mode = "no-network"\n'
    '[metadata.stockade]\nworkspace = "ws"\nscript = "script.json"\n',
    "instruction.md": "Mend it.\n",
    "environment/Dockerfile": "FROM python:3.12\n",
    "tests/test.sh": "#!/bin/bash\n",
    "solution/solve.sh": "#!/bin/bash\n",
    "ws/a.py": "",
    "script.json": "{}",
}
STEPS = {
    "task.toml": 'schema_version = "1.4"\n[environment]\nnetwork_mode = "no-network"\n'
    '[[steps]]\nname = "one"\n',
    "steps/one/instruction.md": "Mend it.\n",
    "steps/one/tests/test.sh": "#!/bin/bash\n",
    "steps/one/solution/solve.sh": "#!/bin/bash\n",
    "steps/one/workdir/setup.sh": "#!/bin/bash\n",
}
TERMINAL_BENCH = {
    "task.yaml": "instruction: Mend it.\n",
    "run-tests.sh": "#!/bin/bash\n",
    "solution.sh": "#!/bin/bash\n",
    "Dockerfile": "FROM python:3.12\n",
    "docker-compose.yaml": "services: {client: {}}\n",
    "tests/test_it.py": "",
}
LAYOUTS = {"harbor": HARBOR, "steps": STEPS, "terminal-bench": TERMINAL_BENCH}


def write(folder: Path, layout: dict[str, str]) -> Path:
    for name, text in layout.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def parts(layout: dict[str, str]) -> list[str]:
    """Every file of a layout, and every folder above one."""
    above = {str(parent) for name in layout for parent in Path(name).parents} - {"."}
    return sorted({*layout, *above} - {"tests/test_it.py", "ws/a.py"})


def problems(folder: Path) -> list[str]:
    with pytest.raises(TaskError) as caught:
        load_task(folder, environ={})
    return [f"{one.file}: {one.message}" for one in caught.value.problems]


@pytest.mark.parametrize("kind", LAYOUTS)
def test_each_layout_is_a_task_as_it_is_written(tmp_path: Path, kind: str) -> None:
    assert load_task(write(tmp_path / "t", LAYOUTS[kind])).name == "t"


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, layout in LAYOUTS.items() for name in parts(layout)]
)
def test_no_file_and_no_folder_of_a_task_may_be_a_link_that_leads_out(
    tmp_path: Path, kind: str, name: str
) -> None:
    folder = write(tmp_path / "t", LAYOUTS[kind])
    (folder / name).rename(tmp_path / "outside")
    (folder / name).symlink_to(tmp_path / "outside")
    found = problems(folder)
    assert any(one.startswith(name) for one in found), found
    assert all("outside" not in one for one in found)


@pytest.mark.parametrize("target", ["../outside", "ws/../../outside", "/etc/hostname", "self"])
def test_a_link_may_not_leave_the_folder_on_any_way(tmp_path: Path, target: str) -> None:
    folder = write(tmp_path / "t", HARBOR)
    (tmp_path / "outside").write_text("the operator's own")
    (folder / "self").symlink_to("self")
    (folder / "instruction.md").unlink()
    (folder / "instruction.md").symlink_to(target)
    assert problems(folder) == ["instruction.md: leads out of the task folder"]


def test_a_link_within_the_folder_is_followed(tmp_path: Path) -> None:
    folder = write(tmp_path / "t", HARBOR)
    (folder / "instruction.md").rename(folder / "ws" / "text.md")
    (folder / "instruction.md").symlink_to("solution/../ws/text.md")
    (folder / "more").symlink_to("ws")
    assert load_task(folder).instruction == "Mend it.\n"
    assert read_below(folder, "more/text.md") == b"Mend it.\n"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("harbor", "task.toml"),
        ("harbor", "instruction.md"),
        ("harbor", "environment/Dockerfile"),
        ("harbor", "tests/test.sh"),
        ("harbor", "solution/solve.sh"),
        ("harbor", "script.json"),
        ("steps", "steps/one/instruction.md"),
        ("terminal-bench", "task.yaml"),
        ("terminal-bench", "run-tests.sh"),
    ],
)
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, kind: str, name: str) -> None:
    folder = write(tmp_path / "t", LAYOUTS[kind])
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert f"{name}: is a pipe, a socket or a device" in problems(folder)


def test_a_text_that_nobody_would_write_is_refused_by_its_size(tmp_path: Path) -> None:
    folder = write(tmp_path / "t", HARBOR)
    os.truncate(folder / "instruction.md", 1 << 40)
    os.truncate(folder / "solution" / "solve.sh", 1 << 40)
    assert problems(folder) == [
        "instruction.md: is larger than 1 MiB",
        "solution/solve.sh: is larger than 16 MiB",
    ]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("task.toml", "a = " + "[" * 3000 + "]" * 3000, "is nested too deeply"),
        ("task.toml", "a = " + "9" * 5000, "is not TOML: "),
        ("task.yaml", "[" * 3000 + "]" * 3000, "is nested too deeply"),
        ("task.yaml", "instruction: 2024-99-99\n", "is not YAML: "),
        ("task.yaml", "instruction: x\na: &a [*a]\n", ""),
        ("docker-compose.yaml", "[1]\n", ""),
        ("docker-compose.yaml", "services: [a, {b: c}]\n", ""),
    ],
    ids=["deep toml", "long number", "deep yaml", "no date", "itself", "a list", "no table"],
)
def test_what_a_parser_does_not_foresee_is_a_problem_or_none(
    tmp_path: Path, name: str, text: str, says: str
) -> None:
    layout = HARBOR if name == "task.toml" else TERMINAL_BENCH
    folder = write(tmp_path / "t", {**layout, name: text})
    if not says:
        assert load_task(folder).check is not None
        return
    (found,) = problems(folder)
    assert found.startswith(f"{name}: {says}")


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('workspace = "a\\u0000b"', "metadata.stockade.workspace"),
        ('image = "\\u0000"', "metadata.stockade.image"),
        ('verify.argv = ["x", "\\u0000"]', "metadata.stockade.verify.argv[1]"),
        ('left_out = ["\\u0000"]', "metadata.stockade.left_out[0]"),
    ],
)
def test_a_nul_is_a_problem_of_its_key(tmp_path: Path, line: str, key: str) -> None:
    text = HARBOR["task.toml"].partition("workspace")[0] + line + "\n"
    with pytest.raises(TaskError) as caught:
        load_task(write(tmp_path / "t", {**HARBOR, "task.toml": text}))
    assert (caught.value.problems[0].key, caught.value.problems[0].message) == (
        key,
        "holds a NUL character",
    )


@pytest.mark.parametrize("key", ["memory", "storage"])
def test_a_size_that_no_machine_reckons_with_is_a_problem_of_its_key(
    tmp_path: Path, key: str
) -> None:
    text = HARBOR["task.toml"].replace("[metadata", f'{key} = "{"9" * 9999}G"\n[metadata')
    with pytest.raises(TaskError) as caught:
        load_task(write(tmp_path / "t", {**HARBOR, "task.toml": text}))
    (problem,) = caught.value.problems
    assert (problem.key, len(str(problem)) < 500) == (f"environment.{key}", True)


def test_lint_looks_at_no_file_outside_and_waits_for_no_pipe(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "Dockerfile").write_text("FROM secret-base:latest\nVOLUME /x\n")
    folder = write(tmp_path / "t", {k: v for k, v in HARBOR.items() if "environment" not in k})
    (folder / "environment").symlink_to(outside)
    os.mkfifo(folder / "Dockerfile")
    assert {one.code for one in lint_task(folder)} == {"weak-verifier"}
