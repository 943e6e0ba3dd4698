"""What a valid task asks for that no box here can give: refused by name, never passed over."""

from __future__ import annotations

from collections.abc import Iterator

from harness.task.error import Problem
from harness.task.schema import TaskFile

__all__ = ["unsupported"]


def unsupported(file: TaskFile) -> Iterator[Problem]:
    """One problem for each request that cannot be met."""
    box = file.environment
    if box.os != "linux":
        yield problem("environment.os", "only Linux boxes exist", 'write os = "linux"')
    if box.gpus or box.tpu:
        key = "environment.gpus" if box.gpus else "environment.tpu"
        yield problem(key, "no box has an accelerator", "remove it")
    if box.healthcheck is not None:
        yield problem("environment.healthcheck", "health checks are not run yet", "remove it")
    if box.mcp_servers:
        yield problem("environment.mcp_servers", "no server can be reached", "remove it")
    if file.steps:
        yield problem("steps", "tasks of several steps are not run yet", "make it one task a step")
    for table, user in (("agent", file.agent.user), ("verifier", file.verifier.user)):
        if user in {"root", 0, "0"}:
            yield problem(f"{table}.user", "no box runs anything as root", "remove it")


def problem(key: str, message: str, fix: str) -> Problem:
    """A problem of the task's main file."""
    return Problem("task.toml", key, message, fix)
