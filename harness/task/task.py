"""A Task: what is asked, of which workspace, under what, and how the result is verified."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Check", "Task", "task_of_instruction"]


@dataclass(frozen=True, slots=True)
class Check:
    """How a result is verified.

    Attributes:
        argv: the command of ``[metadata.stockade.verify]``; empty: the task's ``tests/test.sh``.
        exit: the code that the command must end with.
        tests: IDs that must be reported as passed.
        seconds: the verifier's time limit.
        env: what the task sets for its verifier.
        left_out: start-up files that the agent added are left out of the verification: all of
            them, or those that match one of these patterns.
        min_reward: the least that every value of a reward must be.
    """

    argv: tuple[str, ...] = ()
    exit: int = 0
    tests: tuple[str, ...] = ()
    seconds: float = 600.0
    env: tuple[tuple[str, str], ...] = ()
    left_out: bool | tuple[str, ...] = False
    min_reward: float = 1.0


@dataclass(frozen=True, slots=True)
class Task:
    """One task, read and found fit to run.

    Attributes:
        name: for people and records.
        instruction: what the model is asked.
        folder: the task folder; None for a bare instruction.
        workspace: the folder that is copied in; None: an empty one.
        image, policy, script: what the task names, None where it is silent.
        dockerfile: the image it describes instead, where it names none.
        tests, solution: folders that only the verifier and the oracle get.
        check: how the result is verified; None: not at all.
        workdir: where the workspace lies in the box.
        agent_seconds: the time limit that the task sets for its agent.
        memory_mib, disk_mib: what the task asks for; can only lower a policy's limits.
        env, solution_env: variables for the box, and for the reference solution beside them.
        warnings: what the operator should know.
    """

    name: str
    instruction: str
    folder: Path | None = None
    workspace: Path | None = None
    image: str | None = None
    dockerfile: Path | None = None
    policy: str | None = None
    script: Path | None = None
    tests: Path | None = None
    solution: Path | None = None
    check: Check | None = None
    workdir: str = "/workspace"
    agent_seconds: float | None = None
    memory_mib: int | None = None
    disk_mib: int | None = None
    env: tuple[tuple[str, str], ...] = ()
    solution_env: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()


def task_of_instruction(instruction: str, workspace: Path | None = None) -> Task:
    """A bare instruction as a task: nothing is verified."""
    return Task(name="instruction", instruction=instruction, workspace=workspace)
