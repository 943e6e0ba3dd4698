"""What a task may say of the network while no box has any (decision 34)."""

from __future__ import annotations

from collections.abc import Iterator

from harness.task.error import Problem
from harness.task.schema import TaskFile

__all__ = ["judge_network"]

SILENT = (
    "task.toml: environment.network_mode: not set; Harbor's default is public, this run has no "
    'network; write network_mode = "no-network"'
)


def judge_network(file: TaskFile, *, strict: bool) -> tuple[list[Problem], list[str]]:
    """Problems and warnings: an explicit network is refused, a silent task runs without one."""
    problems = [
        Problem(
            "task.toml",
            f"{table}.network_mode",
            f"{mode} needs a network, and no box has one yet",
            'write network_mode = "no-network" if the task can do without',
        )
        for table, mode in said(file)
        if mode in {"public", "allowlist"}
    ]
    if problems or file.environment.network_mode is not None:
        return problems, []
    if not strict:
        return [], [SILENT]
    silent = Problem(
        "task.toml",
        "environment.network_mode",
        "is not set, which means public in this format",
        'write network_mode = "no-network", or leave out --strict-network',
    )
    return [silent], []


def said(file: TaskFile) -> Iterator[tuple[str, str | None]]:
    """Each table that may speak of the network, with what it says."""
    yield "environment", file.environment.network_mode
    phases = [("", file.agent, file.verifier)]
    phases += [(f"steps[{i}].", s.agent, s.verifier) for i, s in enumerate(file.steps or [])]
    for prefix, agent, verifier in phases:
        yield f"{prefix}agent", agent.network_mode
        yield f"{prefix}verifier", verifier.network_mode
        if verifier.environment is not None:
            yield f"{prefix}verifier.environment", verifier.environment.network_mode
