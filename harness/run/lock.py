"""``lock.json``: what a run was made of, so that another run can insist on the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import ConfigError
from harness.run.folder import list_runs
from policies import Policy
from runners import Session
from runners.workspace import digest as folder_digest

if TYPE_CHECKING:
    from harness.run.job import Job

__all__ = [
    "check_locked",
    "differences",
    "earlier_lock",
    "lock_of",
    "model_facts",
    "own_version",
    "task_facts",
]

FREE = frozenset({"run", "at"})
"""Keys that say which run it was, not what it was made of."""


def lock_of(
    run: str,
    policy: Policy,
    runner: str,
    session: Session,
    *,
    workspace: str,
    task: dict[str, Any] | None = None,
    model: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """What a run is made of."""
    return {
        "schema": 1,
        "run": run,
        "stockade": own_version(),
        "policy": {"name": policy.name, "digest": policy.digest},
        "runner": runner,
        "isolation": session.isolation.label,
        "image": dict(session.image),
        "workspace": {"digest": workspace},
        "task": task,
        "model": model,
        "tools": {"digest": tools_digest(session, policy)} if model else None,
    }


@cache
def own_version() -> str:
    """Of this package; looked up once for all runs of a batch."""
    from importlib.metadata import version

    return version("stockade-harness")


def task_facts(job: Job) -> dict[str, Any]:
    """The task by name and content."""
    folder, instruction = job.task.folder, job.task.instruction.encode()
    content = folder_digest(folder) if folder else hashlib.sha256(instruction).hexdigest()
    return {"name": job.task.name, "digest": f"sha256:{content}"}


def model_facts(name: str | None) -> dict[str, Any] | None:
    """The model by name; a script by its content."""
    if name is None:
        return None
    kind, _, rest = name.partition(":")
    if kind != "scripted":
        return {"name": name}
    # The content is what counts, wherever the file lies and from wherever it is named.
    return {
        "name": f"scripted:{Path(rest).name}",
        "digest": f"sha256:{hashlib.sha256(Path(rest).read_bytes()).hexdigest()}",
    }


def tools_digest(session: Session, policy: Policy) -> str:
    """Of what the model is shown of the tools."""
    from harness.registry import Registry
    from harness.tools import builtin_tools

    shown = [asdict(one) for one in Registry(builtin_tools(session, policy)).definitions()]
    text = json.dumps(shown, sort_keys=True, default=str)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> list[str]:
    """One line for each value that is not the same, by dotted key."""
    lines: list[str] = []
    for key in sorted({*old, *new} - (FREE if not prefix else frozenset())):
        before, after, name = old.get(key), new.get(key), f"{prefix}{key}"
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            lines += differences(before, after, f"{name}.")
        elif before != after:
            lines.append(f"{name}: {before!r} is now {after!r}")
    return lines


def earlier_lock(task: str, folder: Path | None) -> tuple[Path, dict[str, Any]]:
    """The lock that ``--locked`` insists on: the task folder's own, else the last run's."""
    if folder is not None and (lock := lock_of_task(folder)) is not None:
        return folder / "lock.json", lock
    for run in list_runs():
        lock = run.read_lock()
        if lock is not None and (lock.get("task") or {}).get("name") == task:
            return run.lock, lock
    raise ConfigError(
        f"--locked: there is no lock for {task}; run it once without --locked, "
        "or put the lock.json of a run into the task folder"
    )


def lock_of_task(folder: Path) -> dict[str, Any] | None:
    """The lock in a task folder, where there is one."""
    try:
        from harness.task import read_below  # a single command has no task, and starts sooner

        lock = json.loads(read_below(folder, "lock.json"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"--locked: {folder / 'lock.json'} {error.strerror}") from None
    except (ValueError, RecursionError):
        return None
    return lock if isinstance(lock, dict) else None


def check_locked(
    earlier: tuple[Path, Mapping[str, Any]], new: Mapping[str, Any], cure: str = ""
) -> None:
    """Refuse a run that is not made of what the earlier one was made of."""
    path, old = earlier
    lines = differences(old, new)
    if lines:
        listed = "\n".join(f"  {line}" for line in lines)
        end = f"\n{cure}" if cure else ""
        raise ConfigError(f"what the run is made of differs from {path}:\n{listed}{end}")
