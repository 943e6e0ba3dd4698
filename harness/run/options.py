"""What the operator asked for on the command line, before anything is looked up."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from policies import Isolation

__all__ = [
    "AgentName",
    "BoxOptions",
    "RunOptions",
    "SingleOptions",
    "options_from_json",
    "options_to_json",
]

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
        project_policy: a file that can only restrict the policy, read once at the start.
        strict_network: refuse a task that is silent on the network.
        key: a file with the key that seals the log; None: the configuration's, if it has one.
        task_env: names of the operator's variables that the task may read, beside those that the
            configuration names.
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
    project_policy: Path | None = None
    strict_network: bool = False
    key: Path | None = None
    task_env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SingleOptions:
    """One command under a policy.

    Attributes:
        box: where and on what.
        argv: the command, or () where there is a line.
        line: a command line of the plan language.
        stdin: what the command reads; None: nothing.
        key: a file with the key that seals the log; None: the configuration's, if it has one.
    """

    box: BoxOptions = BoxOptions()
    argv: tuple[str, ...] = ()
    line: str | None = None
    stdin: bytes | None = None
    key: Path | None = None


def options_to_json(options: RunOptions) -> dict[str, Any]:
    """The options as JSON, every path absolute: a run may be taken up from another folder."""
    made = {f.name: _plain(getattr(options, f.name)) for f in fields(options) if f.name != "box"}
    kind, _, rest = (options.model or "").partition(":")
    if kind == "scripted":
        made["model"] = f"scripted:{Path(rest).absolute()}"
    box = {f.name: _plain(getattr(options.box, f.name)) for f in fields(options.box)}
    policy = options.box.policy
    if policy is not None and Path(policy).is_file():
        box["policy"] = str(Path(policy).absolute())
    return {**made, "box": box}


def options_from_json(found: dict[str, Any]) -> RunOptions:
    """The inverse of :func:`options_to_json`."""
    given = dict(found)
    box = dict(given.pop("box"))
    for key in ("workspace", "patch"):
        box[key] = None if box[key] is None else Path(box[key])
    for key in ("task", "out", "project_policy", "key"):
        given[key] = None if given.get(key) is None else Path(given[key])
    given["task_env"] = tuple(given.get("task_env", ()))
    level = box["accept_isolation"]
    box["accept_isolation"] = None if level is None else Isolation.parse(level)
    box["include"] = tuple(box["include"])
    return RunOptions(box=BoxOptions(**box), **given)


def _plain(value: object) -> Any:  # noqa: ANN401 - a JSON value
    if isinstance(value, Path):
        return str(value.absolute())
    return value.label if isinstance(value, Isolation) else value
