"""What a valid task asks for that no box here can give: refused by name, never passed over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.task.artifact import MAIN, ArtifactTable
from harness.task.environment import EnvironmentTable
from harness.task.error import Problem
from harness.task.schema import AgentTable, TaskFile, VerifierTable

__all__ = ["unsupported", "weaker"]

ROOT = {"root", 0, "0"}


def unsupported(file: TaskFile) -> Iterator[Problem]:
    """One problem for each request that cannot be met."""
    yield from of_box(file.environment, "environment")
    yield from of_phases(file.agent, file.verifier, file.artifacts, "")
    for index, step in enumerate(file.steps or []):
        yield from of_phases(step.agent, step.verifier, step.artifacts, f"steps[{index}].")
    if file.steps and file.metadata.stockade.verify is not None:
        fix = "remove it; each step is verified by its own tests/test.sh"
        yield problem("metadata.stockade.verify", "belongs to a task of one step", fix)


def of_box(box: EnvironmentTable, table: str) -> Iterator[Problem]:
    """What a box cannot be."""
    if box.os != "linux":
        yield problem(f"{table}.os", "only Linux boxes exist", 'write os = "linux"')
    if box.gpus or box.tpu:
        key = f"{table}.gpus" if box.gpus else f"{table}.tpu"
        yield problem(key, "no box has an accelerator", "remove it")
    if box.mcp_servers:
        yield problem(f"{table}.mcp_servers", "no server can be reached", "remove it")


def of_phases(
    agent: AgentTable, verifier: VerifierTable, artifacts: Sequence[ArtifactTable], prefix: str
) -> Iterator[Problem]:
    """What cannot be had while the agent or the verifier is at work."""
    for table, user in (("agent", agent.user), ("verifier", verifier.user)):
        if user in ROOT:
            yield problem(f"{prefix}{table}.user", "no box runs anything as root", "remove it")
    if verifier.environment is not None:
        yield from of_box(verifier.environment, f"{prefix}verifier.environment")
    for index, hook in enumerate(verifier.collect):
        key = f"{prefix}verifier.collect[{index}]"
        if hook.service != MAIN:
            yield problem(f"{key}.service", "there is one box and no further service", "remove it")
        if hook.user in ROOT:
            yield problem(f"{key}.user", "no box runs anything as root", "remove it")
    for index, artifact in enumerate(artifacts):
        if not artifact.of_main:
            key = f"{prefix}artifacts[{index}].service"
            yield problem(key, "there is one box and no further service", "remove it")


def weaker(file: TaskFile) -> Iterator[str]:
    """A sentence for each wish that is met in another way than Harbor meets it."""
    for table, user in (("agent", file.agent.user), ("verifier", file.verifier.user)):
        if user is not None and user not in ROOT:
            yield f"task.toml: {table}.user: {user!r} is not looked up; the box's own user works"
    if file.environment.cpus is not None:
        yield "task.toml: environment.cpus: not bounded; all cores of this machine can be used"
    if file.environment.skills_dir is not None:
        yield "task.toml: environment.skills_dir: not used; no agent here has skills"
    if file.schema_version.split(".")[1:2] > ["4"]:
        yield f"task.toml: schema_version: {file.schema_version} is newer than 1.4, read as 1.4"


def problem(key: str, message: str, fix: str) -> Problem:
    """A problem of the task's main file."""
    return Problem("task.toml", key, message, fix)
