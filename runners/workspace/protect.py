"""Paths whose changes never leave a box (decision 21), and what a reader of a patch should see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from policies import PROTECTED
from runners.workspace.changes import Change

__all__ = ["PROTECTED", "Flag", "Protected", "flags"]


class Protected:
    """Names that are protected at any depth, with everything below them.

    They are compared without case: on some of the machines that a patch may reach, `.GIT` is
    `.git`.
    """

    def __init__(self, names: Iterable[str] = PROTECTED) -> None:
        self.names = [tuple(name.strip("/").casefold().split("/")) for name in names]
        self.firsts = frozenset(name[0] for name in self.names)

    def name_of(self, path: str) -> str | None:
        """The protected name that a path is or lies below, or None."""
        parts = path.casefold().split("/")
        if self.firsts.isdisjoint(parts):
            return None
        for at in range(len(parts)):
            for name in self.names:
                if tuple(parts[at : at + len(name)]) == name:
                    return "/".join(name)
        return None


@dataclass(frozen=True, slots=True)
class Flag:
    """A change that somebody should look at before it is used."""

    path: str
    reason: str


def flags(changes: Iterable[Change]) -> list[Flag]:
    """New executables, symbolic links, and files that tools run or read on their own."""
    found = []
    for change in changes:
        after, before = change.after, change.before
        if after is None:
            continue
        if after.executable and not (before and before.executable):
            found.append(Flag(change.path, "can be executed"))
        if after.kind == "link":
            found.append(Flag(change.path, f"a symbolic link to {after.target}"))
        parts = change.path.split("/")
        if parts[-1] == ".envrc":
            found.append(Flag(change.path, "run by direnv"))
        if ".github" in parts[:-1]:
            found.append(Flag(change.path, "read by a code host"))
    return found
