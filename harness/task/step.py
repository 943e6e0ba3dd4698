"""Reads the parts of a task of several steps: a folder of its own for each, below ``steps/``."""

from __future__ import annotations

from collections.abc import Mapping

from harness.task.below import TaskFiles
from harness.task.place import collect_of, health_of, kept_of, place_of
from harness.task.schema import StepTable, TaskFile, VerifierTable
from harness.task.task import Check, Place, Step
from harness.task.variable import expand

__all__ = ["settle_steps", "verifier_place"]


def settle_steps(files: TaskFiles, file: TaskFile, environ: Mapping[str, str]) -> tuple[Step, ...]:
    """The steps, checked against their folders."""
    return tuple(
        settle_step(files, file, table, f"steps[{index}]", environ)
        for index, table in enumerate(file.steps or [])
    )


def settle_step(
    files: TaskFiles,
    file: TaskFile,
    table: StepTable,
    key: str,
    environ: Mapping[str, str],
) -> Step:
    """One step."""
    home = f"steps/{table.name}"
    tests = tuple(
        path for name in ("tests", f"{home}/tests") if (path := files.subfolder(name)) is not None
    )
    scripts = [files.file(f"{name}/test.sh") for name in ("tests", f"{home}/tests")]
    if not any(scripts):
        where = f"{home}/tests/test.sh"
        files.note(where, "is missing", "add it, or tests/test.sh for all steps")
    files.subfolder(f"{home}/solution")
    return Step(
        name=table.name,
        instruction=instruction_of(files, home),
        files=files.subfolder(f"{home}/workdir"),
        setup=files.file(f"{home}/workdir/setup.sh") is not None,
        tests=tests,
        solve=files.file(f"{home}/solution/solve.sh"),
        check=check_of(files, file, table, key, environ),
        gate=gate_of(table.min_reward),
        agent_seconds=table.agent.timeout_sec or file.agent.timeout_sec,
        healthcheck=health_of(table.healthcheck),
        kept=kept_of([*file.artifacts, *table.artifacts]),
        collect=collect_of([*file.verifier.collect, *table.verifier.collect]),
    )


def instruction_of(files: TaskFiles, home: str) -> str:
    """What the step asks for."""
    text = files.text(f"{home}/instruction.md")
    if text is not None and not text.strip():
        files.note(f"{home}/instruction.md", "is empty", "say what is to be done")
    return text or ""


def gate_of(least: float | dict[str, float] | None) -> tuple[tuple[str, float], ...]:
    """A bar by names; a bare number stands for the value ``reward``."""
    if least is None:
        return ()
    return tuple(least.items()) if isinstance(least, dict) else (("reward", float(least)),)


def check_of(
    files: TaskFiles,
    file: TaskFile,
    table: StepTable,
    key: str,
    environ: Mapping[str, str],
) -> Check:
    """How a step is verified; what it does not say is the task's."""
    said = table.verifier
    env, unset = expand({**file.verifier.env, **said.env}, f"{key}.verifier.env", environ)
    files.problems.extend(unset)
    seconds = said if "timeout_sec" in said.model_fields_set else file.verifier
    own = verifier_place(said, files, f"steps/{table.name}/tests", key, environ)
    shared = said.environment_mode == "shared"
    place = own or (None if shared else verifier_place(file.verifier, files, "tests", "", environ))
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
    files: TaskFiles,
    tests: str,
    key: str,
    environ: Mapping[str, str],
) -> Place | None:
    """The verifier's own box, if it has one."""
    if said.environment is None:
        return None
    table = f"{key}.verifier.environment".removeprefix(".")
    return place_of(said.environment, files, tests, table, environ)
