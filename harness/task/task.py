"""A Task: what is asked, of which workspace, under what, and how the result is verified."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = [
    "Check",
    "Collect",
    "Healthcheck",
    "Kept",
    "Place",
    "Step",
    "Task",
    "task_of_instruction",
]

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A box as a task describes it; None where the task is silent.

    Attributes:
        image: an image of the operator's, by name.
        docker_image: a Docker image, as a registry calls it.
        dockerfile: the image it describes instead.
        workdir: where the workspace lies in the box.
        env: variables for everything in it.
        memory_mib, disk_mib: what is asked for; can only lower a policy's limits.
    """

    image: str | None = None
    docker_image: str | None = None
    dockerfile: Path | None = None
    workdir: str | None = None
    env: Pairs = ()
    memory_mib: int | None = None
    disk_mib: int | None = None


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
        min_reward: the least that every value of a reward must be, or for single values by name.
        place: a box of the verifier's own; None: as the agent's.
        beside: files of the task that are put beside its tests.
    """

    argv: tuple[str, ...] = ()
    exit: int = 0
    tests: tuple[str, ...] = ()
    seconds: float = 600.0
    env: Pairs = ()
    left_out: bool | tuple[str, ...] = False
    min_reward: float | tuple[tuple[str, float], ...] = 1.0
    place: Place | None = None
    beside: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Healthcheck:
    """A command that must succeed in the box before the agent begins."""

    command: str
    interval_seconds: float = 5.0
    timeout_seconds: float = 30.0
    start_seconds: float = 0.0
    start_interval_seconds: float = 5.0
    retries: int = 3


@dataclass(frozen=True, slots=True)
class Kept:
    """A file or folder of the box that the task wants kept.

    Attributes:
        source: its path in the box, absolute or below the workspace.
        place: where it goes below the folder of what is kept.
        exclude: patterns of what stays behind.
    """

    source: str
    place: str
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Collect:
    """A command that leaves something to be kept, run after the agent."""

    command: str
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Step:
    """One part of a task of several, worked on in the same box as the others.

    Attributes:
        name: its folder below ``steps/``.
        instruction: what the model is asked.
        files: what is put over the workspace first.
        setup: a script, among those files, that is run then.
        tests: folders for the verifier, the later over the earlier.
        solve: the step's reference solution.
        check: how the result of the step is verified.
        gate: values of the reward below which no further step is begun.
        agent_seconds, healthcheck, kept, collect: as of a task.
    """

    name: str
    instruction: str
    files: Path | None = None
    setup: bool = False
    tests: tuple[Path, ...] = ()
    solve: Path | None = None
    check: Check | None = None
    gate: tuple[tuple[str, float], ...] = ()
    agent_seconds: float | None = None
    healthcheck: Healthcheck | None = None
    kept: tuple[Kept, ...] = ()
    collect: tuple[Collect, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """One task, read and found fit to run.

    Attributes:
        name: for people and records.
        instruction: what the model is asked.
        folder: the task folder; None for a bare instruction.
        workspace: the folder that is copied in; None: the files of the image's working folder.
        image, policy, script: what the task names, None where it is silent.
        docker_image: a Docker image that it names.
        dockerfile: the image it describes instead, where it names none.
        tests: folder that only the verifier gets.
        solution: folder that only the oracle gets.
        solve: the script of the reference solution.
        check: how the result is verified; None: not at all.
        workdir: where the workspace lies in the box.
        agent_seconds: the time limit that the task sets for its agent.
        memory_mib, disk_mib: what the task asks for; can only lower a policy's limits.
        env, solution_env: variables for the box, and for the reference solution beside them.
        healthcheck: must succeed before the agent begins.
        kept, collect: what is kept of the box, and what is run to have it.
        steps: parts, each with an instruction and a verification of its own.
        strategy: how the rewards of the steps become one.
        warnings: what the operator should know.
    """

    name: str
    instruction: str
    folder: Path | None = None
    workspace: Path | None = None
    image: str | None = None
    docker_image: str | None = None
    dockerfile: Path | None = None
    policy: str | None = None
    script: Path | None = None
    tests: Path | None = None
    solution: Path | None = None
    solve: Path | None = None
    check: Check | None = None
    workdir: str = "/workspace"
    agent_seconds: float | None = None
    memory_mib: int | None = None
    disk_mib: int | None = None
    env: Pairs = ()
    solution_env: Pairs = ()
    healthcheck: Healthcheck | None = None
    kept: tuple[Kept, ...] = ()
    collect: tuple[Collect, ...] = ()
    steps: tuple[Step, ...] = ()
    strategy: Literal["mean", "final"] = "mean"
    warnings: tuple[str, ...] = ()


def task_of_instruction(instruction: str, workspace: Path | None = None) -> Task:
    """A bare instruction as a task: nothing is verified."""
    return Task(name="instruction", instruction=instruction, workspace=workspace)
