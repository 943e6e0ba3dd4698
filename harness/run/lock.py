"""``lock.json``: what a run was made of, so that another run can insist on the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.errors import ConfigError
from harness.run.folder import list_runs, read_object

__all__ = ["check_locked", "differences", "earlier_lock"]

FREE = frozenset({"run", "at"})
"""Keys that say which run it was, not what it was made of."""


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
    if folder is not None and (lock := read_object(folder / "lock.json")) is not None:
        return folder / "lock.json", lock
    for run in list_runs():
        lock = run.read_lock()
        if lock is not None and lock.get("task", {}).get("name") == task:
            return run.lock, lock
    raise ConfigError(
        f"--locked: there is no lock for {task}; run it once without --locked, "
        "or put the lock.json of a run into the task folder"
    )


def check_locked(earlier: tuple[Path, Mapping[str, Any]], new: Mapping[str, Any]) -> None:
    """Refuse a run that is not made of what the earlier one was made of."""
    path, old = earlier
    lines = differences(old, new)
    if lines:
        listed = "\n".join(f"  {line}" for line in lines)
        raise ConfigError(f"--locked: this run differs from {path}:\n{listed}")
