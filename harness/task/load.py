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
from harness.task.place import collect_of, existing_file, health_of, kept_of, place_of
from harness.task.problem import problems_of, unknown_keys
from harness.task.schema import TaskFile
from harness.task.step import settle_steps, verifier_place
from harness.task.support import unsupported, weaker
from harness.task.task import Check, Task
from harness.task.terminal_bench import read_terminal_bench
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
    if (folder / "task.yaml").is_file() and not (folder / "task.toml").exists():
        task = read_terminal_bench(folder, problems)
        if strict_network:
            fault = "this format says nothing of the network, which means that it has one"
            problems.append(Problem("task.yaml", "", fault, "leave out --strict-network"))
    else:
        task = read_harbor(folder, problems, environ, strict_network=strict_network)
    problems += compose_files(folder / "environment")
    if problems:
        raise TaskError(str(folder), problems)
    return task


def read_harbor(
    folder: Path, problems: list[Problem], environ: Mapping[str, str], *, strict_network: bool
) -> Task:
    """A folder with a ``task.toml``; what is wrong is added to the problems."""
    file = read_file(folder, problems)
    steps = bool(file is not None and file.steps)
    instruction = None if steps else read_text(folder, "instruction.md", problems)
    if instruction is not None and not instruction.strip():
        problems.append(Problem("instruction.md", "", "is empty", "say what is to be done"))
    task = Task(name=folder.resolve().name, instruction=instruction or "", folder=folder)
    if file is None:
        return task
    task = settle(task, folder, file, problems, environ)
    network, warnings = judge_network(file, strict=strict_network)
    problems += network
    return replace(task, warnings=(*task.warnings, *warnings))


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
    place = place_of(box, folder / "environment", "environment", environ, problems)
    solution_env, unset = expand(file.solution.env, "solution.env", environ)
    problems += unset
    steps = settle_steps(folder, file, environ, problems)
    check = None if steps else settle_check(folder, file, problems, environ)
    warnings = [*unknown_keys(file), *weaker(file)]
    if check is None and not steps:
        warnings.append(
            "neither tests/test.sh nor [metadata.stockade.verify]: the result will not be verified"
        )
    return replace(
        task,
        name=file.task.name if file.task else task.name,
        instruction=task.instruction or "\n\n".join(step.instruction for step in steps),
        workspace=folder / ours.workspace if ours.workspace else None,
        image=ours.image,
        docker_image=place.docker_image,
        dockerfile=place.dockerfile,
        policy=ours.policy,
        script=folder / ours.script if ours.script else None,
        tests=existing(folder / "tests"),
        solution=existing(folder / "solution"),
        solve=existing_file(folder / "solution" / "solve.sh"),
        check=check,
        workdir=place.workdir or "/workspace",
        agent_seconds=file.agent.timeout_sec,
        memory_mib=place.memory_mib,
        disk_mib=place.disk_mib,
        env=place.env,
        solution_env=solution_env,
        healthcheck=health_of(box.healthcheck),
        kept=kept_of(file.artifacts),
        collect=collect_of(file.verifier.collect),
        steps=steps,
        strategy=file.multi_step_reward_strategy or "mean",
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
    place = verifier_place(file.verifier, folder / "tests", "", environ, problems)
    check = Check(seconds=file.verifier.timeout_sec, env=env, left_out=left_out, place=place)
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


def compose_files(environment: Path) -> list[Problem]:
    """Compose files: several containers and their networks cannot be had."""
    return [
        Problem(f"environment/{name}", "", "compose files are not run", "use one image")
        for name in COMPOSE
        if (environment / name).exists()
    ]


def existing(folder: Path) -> Path | None:
    """The folder if it is there."""
    return folder if folder.is_dir() else None
