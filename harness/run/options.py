"""What the operator asked for on the command line, before anything is looked up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from policies import Isolation

__all__ = ["AgentName", "BoxOptions", "RunOptions", "SingleOptions"]

AgentName = Literal["model", "oracle", "nop"]


@dataclass(frozen=True, slots=True)
class BoxOptions:
    """Where to run and on what; None stands for: not said.

    Attributes:
        policy: a profile name or the path of a policy file.
        workspace: the folder to work on.
        runner: auto, process, bubblewrap or docker.
        runtime: an OCI runtime of the engine.
        image: the name of an image.
        timeout: seconds: a run's deadline, or the limit of a single call.
        accept_isolation: the least level that the operator puts up with.
        include: patterns of files that copy-in would leave out.
        patch: a second place for the patch.
        apply: apply the changes to the workspace.
    """

    policy: str | None = None
    workspace: Path | None = None
    runner: str | None = None
    runtime: str | None = None
    image: str | None = None
    timeout: float | None = None
    accept_isolation: Isolation | None = None
    include: tuple[str, ...] = ()
    patch: Path | None = None
    apply: bool = False


@dataclass(frozen=True, slots=True)
class RunOptions:
    """A whole run.

    Attributes:
        box: where and on what.
        task: a task folder; None: the instruction.
        instruction: what to do, where there is no task folder.
        agent: who works on it.
        model: a model, where the agent is one.
        max_steps, max_tool_calls: lower the policy's budgets.
        fail_on_denial: a denial spoils a pass.
        in_place: work on the workspace itself.
        out: the run folder; None: in the state folder.
        locked: refuse to run what differs from an earlier run.
        strict_network: refuse a task that is silent on the network.
    """

    box: BoxOptions = BoxOptions()
    task: Path | None = None
    instruction: str | None = None
    agent: AgentName = "model"
    model: str | None = None
    max_steps: int | None = None
    max_tool_calls: int | None = None
    fail_on_denial: bool = False
    in_place: bool = False
    out: Path | None = None
    locked: bool = False
    strict_network: bool = False


@dataclass(frozen=True, slots=True)
class SingleOptions:
    """One command under a policy.

    Attributes:
        box: where and on what.
        argv: the command, or () where there is a line.
        line: a command line of the plan language.
        stdin: what the command reads; None: nothing.
    """

    box: BoxOptions = BoxOptions()
    argv: tuple[str, ...] = ()
    line: str | None = None
    stdin: bytes | None = None
