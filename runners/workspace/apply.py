"""Bringing changes into the operator's own folder, unless it changed meanwhile."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.errors import WorkspaceError
from runners.supervisor.walk import Walk
from runners.workspace.below import open_folder, state_at
from runners.workspace.changes import Change
from runners.workspace.exchange import Exchange, parents
from runners.workspace.name import shown, to_bytes, to_text
from runners.workspace.patch import Content
from runners.workspace.scan import open_source

__all__ = ["Applied", "Conflict", "apply_changes"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A path that is not what went into the box, so that a change would overwrite work."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of it: either every change was made, or none and the conflicts say why."""

    changes: tuple[Change, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


def apply_changes(target: Path, changes: Sequence[Change], content: Content) -> Applied:
    """Make changes in a folder; ``content`` gives the new bytes of a file.

    Each path is compared first with what went into the box; one conflict and nothing is written.
    """
    root = open_source(target)
    exchange = Exchange(root)
    try:
        conflicts = find_conflicts(root, changes)
        if conflicts:
            return Applied((), tuple(conflicts))
        exchange.make(changes, content)
    except OSError as error:
        raise WorkspaceError(failure(target, exchange, error)) from None
    finally:
        os.close(root)
    return Applied(tuple(changes))


def failure(target: Path, exchange: Exchange, error: OSError) -> str:
    """Why nothing was changed, or what could not be put back."""
    reason = f"{shown(exchange.at)}: {error.strerror}" if exchange.at else str(error)
    if not exchange.lost:
        return f"nothing was changed in {shown(str(target))}, because of {reason}"
    aside = ", ".join(shown(room.path) for room in exchange.rooms.values())
    return (
        f"the changes could not all be made in {shown(str(target))}, because of {reason}; not put"
        f" back: {', '.join(map(shown, exchange.lost))}. What was there lies in {aside}"
    )


def find_conflicts(root: int, changes: Sequence[Change]) -> list[Conflict]:
    """The paths that are not as they were."""
    leaving = {change.path for change in changes if change.before is not None}
    found = []
    for change in changes:
        reason = conflict(root, change, leaving)
        if reason:
            found.append(Conflict(change.path, reason))
    return found


def conflict(root: int, change: Change, leaving: set[str]) -> str | None:
    """Why a change would overwrite something, or None."""
    try:
        now = state_at(root, change.path)
    except OSError as error:  # a file or a link where a folder should be
        if any(above in leaving for above in parents(change.path)) and change.before is None:
            return None
        return f"cannot be looked at: {error.strerror}"
    if change.before is None:
        if now is None or (now.kind == "dir" and all_leaving(root, change.path, leaving)):
            return None
        return "is there already"
    if now is None:
        return "is gone"
    return None if now.same(change.before) else "was changed meanwhile"


def all_leaving(root: int, path: str, leaving: set[str]) -> bool:
    """Whether a folder holds only files that the changes remove."""
    folder = open_folder(root, path)
    try:
        walk = Walk(folder, 1_000_000, to_bytes(path))
        kept = any(item.kind != "dir" and to_text(item.path) not in leaving for item in walk)
        return not kept and not walk.bounds
    finally:
        os.close(folder)
