"""Reads a task folder in the Harbor layout; everything wrong with it is said at once."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from harness.task.error import Problem, TaskError
from harness.task.network import judge_network
from harness.task.problem import problems_of, unknown_keys
from harness.task.schema import TaskFile
from harness.task.support import unsupported
from harness.task.task import Check, Task
from harness.task.variable import expand
from policies import profile_names

__all__ = ["load_task"]

COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")


def load_task(
    folder: Path, *, strict_network: bool = False, environ: Mapping[str, str] = os.environ
) -> Task:
    """The task in a folder, or a TaskError with all that is wrong."""
    if not folder.is_dir():
        problem = Problem(str(folder), "", "no such folder", "name a folder that holds task.toml")
        raise TaskError(str(folder), [problem])
    problems: list[Problem] = []
    instruction = read_text(folder, "instruction.md", problems)
    if instruction is not None and not instruction.strip():
        problems.append(Problem("instruction.md", "", "is empty", "say what is to be done"))
    file = read_file(folder, problems)
    task = Task(name=folder.resolve().name, instruction=instruction or "", folder=folder)
    if file is not None:
        task = settle(task, folder, file, problems, environ)
        network, warnings = judge_network(file, strict=strict_network)
        problems += network
        task = replace(task, warnings=(*task.warnings, *warnings))
    problems += compose_files(folder)
    if problems:
        raise TaskError(str(folder), problems)
    return task


def read_text(folder: Path, name: str, problems: list[Problem]) -> str | None:
    """A text file of the task, or None with the problem noted."""
    try:
        return (folder / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        problems.append(Problem(name, "", "is missing", "add it"))
    except UnicodeDecodeError:
        problems.append(Problem(name, "", "is not UTF-8", "save it as UTF-8"))
    except OSError as error:
        problems.append(Problem(name, "", f"cannot be read: {error.strerror}", "make it readable"))
    return None


def read_file(folder: Path, problems: list[Problem]) -> TaskFile | None:
    """``task.toml``, or None with its problems noted."""
    text = read_text(folder, "task.toml", problems)
    if text is None:
        return None
    try:
        return TaskFile.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        problems.append(Problem("task.toml", "", f"is not TOML: {error}", "correct that line"))
    except ValidationError as error:
        problems += problems_of(error, "task.toml")
    return None


def settle(
    task: Task,
    folder: Path,
    file: TaskFile,
    problems: list[Problem],
    environ: Mapping[str, str],
) -> Task:
    """The task with what its file says, checked against the folder."""
    ours, box = file.metadata.stockade, file.environment
    problems += unsupported(file)
    problems += named_paths(folder, file)
    if ours.policy is not None and ours.policy.removeprefix("builtin:") not in profile_names():
        known = ", ".join(profile_names())
        message = f"{ours.policy!r} is not a built-in profile"
        problems.append(
            Problem("task.toml", "metadata.stockade.policy", message, f"one of {known}")
        )
    env, unset = expand(box.env, "environment.env", environ)
    solution_env, more = expand(file.solution.env, "solution.env", environ)
    problems += [*unset, *more]
    check = settle_check(folder, file, problems, environ)
    warnings = list(unknown_keys(file))
    if check is None:
        warnings.append(
            "neither tests/test.sh nor [metadata.stockade.verify]: the result will not be verified"
        )
    return replace(
        task,
        name=file.task.name if file.task and file.task.name else task.name,
        workspace=folder / ours.workspace if ours.workspace else None,
        image=ours.image or box.docker_image,
        dockerfile=existing_file(folder / "environment" / "Dockerfile"),
        policy=ours.policy,
        script=folder / ours.script if ours.script else None,
        tests=existing(folder / "tests"),
        solution=existing(folder / "solution"),
        check=check,
        workdir=box.workdir or "/workspace",
        agent_seconds=file.agent.timeout_sec,
        memory_mib=box.memory_mb,
        disk_mib=box.storage_mb,
        env=env,
        solution_env=solution_env,
        warnings=tuple(warnings),
    )


def settle_check(
    folder: Path, file: TaskFile, problems: list[Problem], environ: Mapping[str, str]
) -> Check | None:
    """How the result is verified, by the strong form where the task has one."""
    ours = file.metadata.stockade
    env, unset = expand(file.verifier.env, "verifier.env", environ)
    problems += unset
    left_out = ours.left_out if isinstance(ours.left_out, bool) else tuple(ours.left_out)
    check = Check(seconds=file.verifier.timeout_sec, env=env, left_out=left_out)
    if ours.verify is not None:
        verify = ours.verify
        problems += missing_tests(folder, ours.workspace, verify.tests)
        return replace(check, argv=tuple(verify.argv), exit=verify.exit, tests=tuple(verify.tests))
    return check if (folder / "tests" / "test.sh").is_file() else None


def missing_tests(folder: Path, workspace: str | None, tests: list[str]) -> list[Problem]:
    """Test IDs whose file is neither among the task's tests nor in its workspace."""
    roots = [folder / "tests", *([folder / workspace] if workspace else [])]
    return [
        Problem(
            "task.toml",
            f"metadata.stockade.verify.tests[{index}]",
            f"there is no file {test.partition('::')[0]} in tests/ or in the workspace",
            "name a test file relative to tests/",
        )
        for index, test in enumerate(tests)
        if workspace and not any((root / test.partition("::")[0]).is_file() for root in roots)
    ]


def named_paths(folder: Path, file: TaskFile) -> list[Problem]:
    """Paths that our own table names and that are not there."""
    ours = file.metadata.stockade
    problems = []
    if ours.workspace and not (folder / ours.workspace).is_dir():
        key, message = "metadata.stockade.workspace", f"there is no folder {ours.workspace}"
        problems.append(Problem("task.toml", key, message, "name a folder inside the task folder"))
    if ours.script and not (folder / ours.script).is_file():
        key, message = "metadata.stockade.script", f"there is no file {ours.script}"
        problems.append(Problem("task.toml", key, message, "name a file inside the task folder"))
    return [*problems, *escaping(folder, [ours.workspace, ours.script])]


def escaping(folder: Path, names: list[str | None]) -> list[Problem]:
    """Named paths that a link leads out of the task folder."""
    root = folder.resolve()
    return [
        Problem("task.toml", name, "leads out of the task folder", "copy it into the folder")
        for name in names
        if name and not (folder / name).resolve().is_relative_to(root)
    ]


def compose_files(folder: Path) -> list[Problem]:
    """Compose files: several containers and their networks cannot be had."""
    return [
        Problem(f"environment/{name}", "", "compose files are not run", "use one image")
        for name in COMPOSE
        if (folder / "environment" / name).exists()
    ]


def existing_file(path: Path) -> Path | None:
    """The file if it is there."""
    return path if path.is_file() else None


def existing(folder: Path) -> Path | None:
    """The folder if it is there."""
    return folder if folder.is_dir() else None
