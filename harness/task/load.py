"""Reads a task folder in the Harbor layout; everything wrong with it is said at once."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from harness.task.below import TaskFiles
from harness.task.error import Problem, TaskError
from harness.task.network import judge_network
from harness.task.place import collect_of, health_of, kept_of, place_of
from harness.task.problem import nul_problems, problems_of, unknown_keys
from harness.task.schema import TaskFile
from harness.task.step import settle_steps, verifier_place
from harness.task.support import unsupported, weaker
from harness.task.task import Check, Task
from harness.task.terminal_bench import read_terminal_bench
from harness.task.variable import expand
from policies import profile_names

__all__ = ["load_task"]

NOTHING: Mapping[str, str] = MappingProxyType({})

COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")


def load_task(
    folder: Path, *, strict_network: bool = False, environ: Mapping[str, str] = NOTHING
) -> Task:
    """The task in a folder, or a TaskError with all that is wrong.

    Args:
        folder: the task folder; nothing is read that a link in it leads to outside.
        strict_network: refuse a task that is silent on the network.
        environ: the variables that tasks may read. They are written by strangers: give them what
            the operator named, never a whole environment.
    """
    if not folder.is_dir():
        problem = Problem(str(folder), "", "no such folder", "name a folder that holds task.toml")
        raise TaskError(str(folder), [problem])
    problems: list[Problem] = []
    files = TaskFiles(folder, problems)
    if (folder / "task.yaml").exists() and not (folder / "task.toml").exists():
        task = read_terminal_bench(files)
        if strict_network:
            fault = "this format says nothing of the network, which means that it has one"
            problems.append(Problem("task.yaml", "", fault, "leave out --strict-network"))
    else:
        task = read_harbor(files, environ, strict_network=strict_network)
    compose_files(files)
    if problems:
        raise TaskError(str(folder), problems)
    return task


def read_harbor(files: TaskFiles, environ: Mapping[str, str], *, strict_network: bool) -> Task:
    """A folder with a ``task.toml``; what is wrong is added to the problems."""
    folder, problems = files.folder, files.problems
    file = read_file(files)
    steps = bool(file is not None and file.steps)
    instruction = None if steps else files.text("instruction.md")
    if instruction is not None and not instruction.strip():
        problems.append(Problem("instruction.md", "", "is empty", "say what is to be done"))
    task = Task(name=folder.resolve().name, instruction=instruction or "", folder=folder)
    if file is None:
        return task
    task = settle(task, files, file, environ)
    network, warnings = judge_network(file, strict=strict_network)
    problems += network
    return replace(task, warnings=(*task.warnings, *warnings))


def read_file(files: TaskFiles) -> TaskFile | None:
    """``task.toml``, or None with its problems noted."""
    text = files.text("task.toml")
    if text is None:
        return None
    try:
        data = tomllib.loads(text)
        files.problems.extend(nul_problems(data, "task.toml"))
        return TaskFile.model_validate(data)
    except ValidationError as error:
        files.problems.extend(problems_of(error, "task.toml"))
    except RecursionError:
        files.note("task.toml", "is nested too deeply", "write it flatter")
    except ValueError as error:
        files.note("task.toml", f"is not TOML: {error}", "correct that line")
    return None


def settle(
    task: Task,
    files: TaskFiles,
    file: TaskFile,
    environ: Mapping[str, str],
) -> Task:
    """The task with what its file says, checked against the folder."""
    problems = files.problems
    ours, box = file.metadata.stockade, file.environment
    problems += unsupported(file)
    workspace, script = named_paths(files, file)
    if ours.policy is not None and ours.policy.removeprefix("builtin:") not in profile_names():
        known = ", ".join(profile_names())
        message = f"{ours.policy!r} is not a built-in profile"
        problems.append(
            Problem("task.toml", "metadata.stockade.policy", message, f"one of {known}")
        )
    place = place_of(box, files, "environment", "environment", environ)
    solution_env, unset = expand(file.solution.env, "solution.env", environ)
    problems += unset
    steps = settle_steps(files, file, environ)
    check = None if steps else settle_check(files, file, environ)
    warnings = [*unknown_keys(file), *weaker(file)]
    if check is None and not steps:
        warnings.append(
            "neither tests/test.sh nor [metadata.stockade.verify]: the result will not be verified"
        )
    return replace(
        task,
        name=file.task.name if file.task else task.name,
        instruction=task.instruction or "\n\n".join(step.instruction for step in steps),
        workspace=workspace,
        image=ours.image,
        docker_image=place.docker_image,
        dockerfile=place.dockerfile,
        policy=ours.policy,
        script=script,
        tests=files.subfolder("tests"),
        solution=files.subfolder("solution"),
        solve=files.file("solution/solve.sh"),
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


def settle_check(files: TaskFiles, file: TaskFile, environ: Mapping[str, str]) -> Check | None:
    """How the result is verified, by the strong form where the task has one."""
    ours = file.metadata.stockade
    env, unset = expand(file.verifier.env, "verifier.env", environ)
    files.problems.extend(unset)
    left_out = ours.left_out if isinstance(ours.left_out, bool) else tuple(ours.left_out)
    place = verifier_place(file.verifier, files, "tests", "", environ)
    check = Check(seconds=file.verifier.timeout_sec, env=env, left_out=left_out, place=place)
    if ours.verify is not None:
        verify = ours.verify
        missing_tests(files, ours.workspace, verify.tests)
        return replace(check, argv=tuple(verify.argv), exit=verify.exit, tests=tuple(verify.tests))
    return check if files.file("tests/test.sh") else None


def missing_tests(files: TaskFiles, workspace: str | None, tests: list[str]) -> None:
    """Test IDs whose file is neither among the task's tests nor in its workspace."""
    if not workspace:
        return
    for index, test in enumerate(tests):
        name = test.partition("::")[0]
        if not any(files.file(f"{root}/{name}") for root in ("tests", workspace)):
            key = f"metadata.stockade.verify.tests[{index}]"
            message = f"there is no file {name} in tests/ or in the workspace"
            fix = "name a test file relative to tests/"
            files.problems.append(Problem("task.toml", key, message, fix))


Find = Callable[[str], Path | None]


def named_paths(files: TaskFiles, file: TaskFile) -> tuple[Path | None, Path | None]:
    """The workspace and the script that our table names; that one is not there is a problem."""

    def named(
        key: str, name: str | None, kind: str, find: Callable[[str], Path | None]
    ) -> Path | None:
        known = len(files.problems)
        found = find(name) if name else None
        if name and found is None and len(files.problems) == known:
            message, fix = f"there is no {kind} {name}", f"name a {kind} inside the task folder"
            files.problems.append(Problem("task.toml", f"metadata.stockade.{key}", message, fix))
        return found

    ours = file.metadata.stockade
    workspace = named("workspace", ours.workspace, "folder", files.subfolder)
    return workspace, named("script", ours.script, "file", files.file)


def compose_files(files: TaskFiles) -> None:
    """Compose files: several containers and their networks cannot be had."""
    for name in COMPOSE:
        if files.file(f"environment/{name}"):
            files.note(f"environment/{name}", "compose files are not run", "use one image")
