"""From what the operator asked for to what will be done; every mistake is found here.

Precedence: flags, then the environment and the configuration file (harness.config), then the
task where the key is the task's to say (decision 12).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from harness.config import Config, Images, load_config, runs_folder
from harness.errors import ConfigError
from harness.models.choice import make_model, model_from_environment
from harness.run.accepted import accept
from harness.run.given import given_variables
from harness.run.image import mapped
from harness.run.options import AgentName, RunOptions
from harness.run.recording import Recording, recording_of
from harness.run.wish import BoxWish, make_wish, workspace_folder
from harness.task import Task, load_task, task_of_instruction
from policies import Budgets, Limits, Policy, profile_names
from policies import load as load_policy

if TYPE_CHECKING:
    from harness.model import Model

__all__ = ["Job", "make_job"]


@dataclass(frozen=True, slots=True)
class Job:
    """All that a run needs to know before it starts.

    Attributes:
        options: as they were given.
        task: what is asked.
        policy: under which rules.
        limits, budgets: the policy's, lowered by task and flags.
        wish: which box.
        agent: who works on it.
        model: the model, where the agent is one, and how it was named.
        workspace: the folder that is copied in, or bound; None: an empty one.
        images: how a task that describes its own image gets one.
        notes: what the operator should know before it starts.
        recording: how its log is kept.
    """

    options: RunOptions
    task: Task
    policy: Policy
    limits: Limits
    budgets: Budgets
    wish: BoxWish
    agent: AgentName
    model: Model | None
    model_name: str | None
    workspace: Path | None
    images: Images
    notes: tuple[str, ...]
    recording: Recording = Recording()


def make_job(options: RunOptions, environ: Mapping[str, str] = os.environ) -> Job:
    """Look up and check everything; ConfigError (exit 2) says what does not fit."""
    config = load_config(environ)
    task = find_task(options, given_variables(options.task_env, config, environ))
    name = options.box.policy or task.policy or config.policy or "python-dev"
    policy = policy_of(name, options.project_policy)
    workspace = workspace_folder(options.box.workspace or task.workspace)
    check_destination(options)
    notes = [*task.warnings]
    wish = make_wish(
        options.box,
        config,
        task.image or mapped(task.docker_image, config.images),
        task.dockerfile,
    )
    if wish.accept is not None and wish.accept < policy.isolation:
        notes.append(
            f"the policy asks for isolation level {policy.isolation.label}; "
            f"the operator accepts {wish.accept.label}"
        )
    limits = lowered_limits(policy.limits, task)
    budgets = lowered_budgets(policy.budgets, options, task, notes)
    model_name = name_model(options, task, config, environ)
    return Job(
        options=options,
        task=task,
        policy=accept(policy, wish.accept),
        limits=limits,
        budgets=budgets,
        wish=wish,
        agent=options.agent,
        model=make_model(model_name, environ=environ, config=config.models) if model_name else None,
        model_name=model_name,
        workspace=workspace,
        images=config.images,
        notes=tuple(notes),
        recording=recording_of(config, environ, options.key),
    )


def policy_of(name: str, project: Path | None) -> Policy:
    """The policy by name or file; a built-in profile is read once, for the runs of a batch."""
    if project is None and name in profile_names():
        return profile(name)
    return load_policy(name, project=project)


@cache
def profile(name: str) -> Policy:
    """A built-in profile."""
    return load_policy(name)


def find_task(options: RunOptions, given: Mapping[str, str]) -> Task:
    """The task folder, or the instruction as a task; exactly one of the two.

    Args:
        options: the operator's.
        given: the variables that the task may read.
    """
    if (options.task is None) == (options.instruction is None):
        raise ConfigError("name a task folder, or say --instruction TEXT; exactly one of the two")
    if options.task is not None:
        task = load_task(options.task, strict_network=options.strict_network, environ=given)
    else:
        text = options.instruction or ""
        if not text.strip():
            raise ConfigError("--instruction is empty; say what is to be done")
        task = task_of_instruction(text)
    unsolved = [step.name for step in task.steps if step.solve is None]
    if options.agent == "oracle" and unsolved:
        raise ConfigError(f"--agent oracle: the step {unsolved[0]} has no solution/solve.sh")
    if options.agent == "oracle" and task.solve is None and not task.steps:
        raise ConfigError("--agent oracle: the task has no solution/solve.sh")
    return task


def check_destination(options: RunOptions) -> None:
    """Flags that need a workspace of the operator's, or exclude each other."""
    own = options.box.workspace is not None
    if options.in_place and options.box.apply:
        raise ConfigError("--in-place works on the workspace itself; --apply has nothing to add")
    for flag, given in (("--in-place", options.in_place), ("--apply", options.box.apply)):
        if given and not own:
            raise ConfigError(f"{flag} needs --workspace: a task's own files are never changed")
    if options.in_place and options.box.workspace is not None:
        check_outside(options.box.workspace, "--patch", options.box.patch)
        check_outside(options.box.workspace, "--out", options.out)
        check_outside(options.box.workspace, "the state folder", runs_folder())


def check_outside(workspace: Path, what: str, path: Path | None) -> None:
    """What we write may not lie where a program can put a link in its place."""
    if path is None:
        return
    for place in spellings(path):
        if any(place.is_relative_to(folder) for folder in spellings(workspace)):
            raise ConfigError(
                f"--in-place: {what} ({path}) lies in the workspace, where the box can change it; "
                "name a place outside"
            )


def spellings(path: Path) -> tuple[Path, Path]:
    """A path as it is written, since a program could change a link on the way, and resolved."""
    return Path(os.path.abspath(path)), path.resolve()  # noqa: PTH100 - links are not followed


def lowered_limits(limits: Limits, task: Task) -> Limits:
    """The policy's limits, lowered where the task asks for less."""
    return replace(
        limits,
        memory_mib=min(limits.memory_mib, task.memory_mib or limits.memory_mib),
        disk_mib=min(limits.disk_mib, task.disk_mib or limits.disk_mib),
    )


def lowered_budgets(budgets: Budgets, options: RunOptions, task: Task, notes: list[str]) -> Budgets:
    """The policy's budgets, lowered by flags and task; a flag that would raise one is noted."""
    lowered = replace(
        budgets,
        steps=min(budgets.steps, options.max_steps or budgets.steps),
        tool_calls=min(budgets.tool_calls, options.max_tool_calls or budgets.tool_calls),
        wall_seconds=min(
            budgets.wall_seconds,
            options.box.timeout or budgets.wall_seconds,
            task.agent_seconds or budgets.wall_seconds,
        ),
    )
    for flag, asked, got in (
        ("--max-steps", options.max_steps, lowered.steps),
        ("--max-tool-calls", options.max_tool_calls, lowered.tool_calls),
        ("--timeout", options.box.timeout, lowered.wall_seconds),
    ):
        if asked is not None and asked > got:
            notes.append(f"{flag} {asked:g}: cannot raise the limit of {got:g}")
    return lowered


def name_model(
    options: RunOptions, task: Task, config: Config, environ: Mapping[str, str]
) -> str | None:
    """Which model, in the form that ``--model`` takes (decision 25)."""
    if options.agent != "model":
        return None
    named = options.model or config.model or model_from_environment(environ)
    if named is None and task.script is not None:
        named = f"scripted:{task.script}"
    if named is None:
        raise ConfigError(
            "no model: name one with --model (scripted:FILE, openai:NAME, anthropic:NAME), in the "
            "configuration, or by OPENAI_API_KEY and OPENAI_MODEL"
        )
    return named
