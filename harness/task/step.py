"""Reads the parts of a task of several steps: a folder of its own for each, below ``steps/``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.task.error import Problem
from harness.task.place import collect_of, existing_file, health_of, kept_of, place_of
from harness.task.schema import StepTable, TaskFile, VerifierTable
from harness.task.task import Check, Place, Step
from harness.task.variable import expand

__all__ = ["settle_steps", "verifier_place"]


def settle_steps(
    folder: Path, file: TaskFile, environ: Mapping[str, str], problems: list[Problem]
) -> tuple[Step, ...]:
    """The steps, checked against their folders."""
    return tuple(
        settle_step(folder, file, table, f"steps[{index}]", environ, problems)
        for index, table in enumerate(file.steps or [])
    )


def settle_step(
    folder: Path,
    file: TaskFile,
    table: StepTable,
    key: str,
    environ: Mapping[str, str],
    problems: list[Problem],
) -> Step:
    """One step."""
    home = folder / "steps" / table.name
    if not home.resolve().is_relative_to(folder.resolve()):
        fault = "leads out of the task folder"
        problems.append(Problem("task.toml", f"{key}.name", fault, "copy it into the folder"))
    tests = tuple(path for path in (folder / "tests", home / "tests") if path.is_dir())
    if not any((path / "test.sh").is_file() for path in tests):
        where = f"steps/{table.name}/tests/test.sh"
        problems.append(Problem(where, "", "is missing", "add it, or tests/test.sh for all steps"))
    return Step(
        name=table.name,
        instruction=instruction_of(home, table.name, problems),
        files=(home / "workdir") if (home / "workdir").is_dir() else None,
        setup=(home / "workdir" / "setup.sh").is_file(),
        tests=tests,
        solve=existing_file(home / "solution" / "solve.sh"),
        check=check_of(folder, file, table, key, environ, problems),
        gate=gate_of(table.min_reward),
        agent_seconds=table.agent.timeout_sec or file.agent.timeout_sec,
        healthcheck=health_of(table.healthcheck),
        kept=kept_of([*file.artifacts, *table.artifacts]),
        collect=collect_of([*file.verifier.collect, *table.verifier.collect]),
    )


def instruction_of(home: Path, name: str, problems: list[Problem]) -> str:
    """What the step asks for."""
    where = f"steps/{name}/instruction.md"
    try:
        text = (home / "instruction.md").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        problems.append(Problem(where, "", "is missing or not UTF-8", "add it"))
        return ""
    if not text.strip():
        problems.append(Problem(where, "", "is empty", "say what is to be done"))
    return text


def gate_of(least: float | dict[str, float] | None) -> tuple[tuple[str, float], ...]:
    """A bar by names; a bare number stands for the value ``reward``."""
    if least is None:
        return ()
    return tuple(least.items()) if isinstance(least, dict) else (("reward", float(least)),)


def check_of(
    folder: Path,
    file: TaskFile,
    table: StepTable,
    key: str,
    environ: Mapping[str, str],
    problems: list[Problem],
) -> Check:
    """How a step is verified; what it does not say is the task's."""
    said = table.verifier
    env, unset = expand({**file.verifier.env, **said.env}, f"{key}.verifier.env", environ)
    problems += unset
    seconds = said if "timeout_sec" in said.model_fields_set else file.verifier
    own = verifier_place(said, folder / "steps" / table.name / "tests", key, environ, problems)
    shared = said.environment_mode == "shared"
    place = own or (
        None if shared else verifier_place(file.verifier, folder / "tests", "", environ, problems)
    )
    left_out = file.metadata.stockade.left_out
    return Check(
        seconds=seconds.timeout_sec,
        env=env,
        left_out=left_out if isinstance(left_out, bool) else tuple(left_out),
        min_reward=gate_of(table.min_reward) or 1.0,
        place=place,
    )


def verifier_place(
    said: VerifierTable,
    tests: Path,
    key: str,
    environ: Mapping[str, str],
    problems: list[Problem],
) -> Place | None:
    """The verifier's own box, if it has one."""
    if said.environment is None:
        return None
    table = f"{key}.verifier.environment".removeprefix(".")
    return place_of(said.environment, tests, table, environ, problems)
