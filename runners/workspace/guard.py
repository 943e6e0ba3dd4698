"""The protected paths of a folder that is worked on in place (decision 21).

What stands there at the start is bound read-only. A bind protects no name that does not exist yet,
and follows a folder that is moved; so what stands at a protected name in the end, and did not at
the start, gets another name that no tool looks for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runners.errors import WorkspaceError
from runners.supervisor.walk import Walk
from runners.workspace.name import shown, to_bytes, to_text
from runners.workspace.protect import PROTECTED, Protected
from runners.workspace.scan import MAX_SEEN, open_source

__all__ = ["Guard", "PutAside"]


@dataclass(frozen=True, slots=True)
class PutAside:
    """A path that was made at a protected name, and what it is called now ("": it could not)."""

    path: str
    now: str


@dataclass(frozen=True, slots=True)
class Guard:
    """What stood at protected names when the work began.

    Attributes:
        folder: the operator's.
        protected: the names.
        standing: device and inode by path, outermost paths only.
    """

    folder: Path
    protected: Protected
    standing: dict[str, tuple[int, int]]

    @classmethod
    def begin(cls, folder: Path, names: Iterable[str] = PROTECTED) -> Guard:
        """Look at a folder before a box gets it; WorkspaceError where it cannot be seen whole."""
        protected = Protected(names)
        found, bounds = look(folder, protected)
        if bounds:
            path, reason = bounds[0]
            raise WorkspaceError(
                f"{shown(path)} of {folder} cannot be looked at ({reason}), so nobody can say "
                "what is to be protected in place; leave --in-place out"
            )
        return cls(folder, protected, found)

    @property
    def paths(self) -> tuple[str, ...]:
        """What is to be bound read-only."""
        return tuple(self.standing)

    def put_aside(self, mark: str) -> list[PutAside]:
        """Rename what was made at a protected name; call it when no program runs any more."""
        found, bounds = look(self.folder, self.protected)
        done = [
            PutAside(path, rename(self.folder, path, mark))
            for path, identity in found.items()
            if self.standing.get(path) != identity
        ]
        return [*done, *(PutAside(path, "") for path, _ in bounds)]


def look(
    folder: Path, protected: Protected
) -> tuple[dict[str, tuple[int, int]], list[tuple[str, str]]]:
    """The outermost protected paths of a folder, and where nobody could look."""
    root = open_source(folder)
    found: dict[str, tuple[int, int]] = {}
    try:
        walk = Walk(root, MAX_SEEN)
        for item in walk:
            path = to_text(item.path)
            if protected.name_of(path) is None:
                continue
            walk.skip()
            with suppress(FileNotFoundError):
                status = os.stat(item.name, dir_fd=item.folder, follow_symlinks=False)
                found[path] = (status.st_dev, status.st_ino)
        return found, [(to_text(path), reason) for path, reason in walk.bounds]
    finally:
        os.close(root)


def rename(folder: Path, path: str, mark: str) -> str:
    """Give a path a name that no tool looks for; the new path, or "" where that failed."""
    above, _, name = path.rpartition("/")
    now = f"{above}/{name}.{mark}".lstrip("/")
    root = open_source(folder)
    try:
        os.rename(to_bytes(path), to_bytes(now), src_dir_fd=root, dst_dir_fd=root)
    except OSError:
        return ""
    finally:
        os.close(root)
    return now
