"""Set-uid and set-gid bits of a folder that is worked on in place.

A program in a box runs as the folder's owner, so it may give a file of its own the set-uid bit.
In a box the bit means nothing; on the host it lets any user become the owner.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runners.supervisor.walk import Walk
from runners.workspace.name import to_text
from runners.workspace.scan import MAX_SEEN, open_source

__all__ = ["Cleared", "Identity", "Privileges", "identity"]

Identity = tuple[int, int]
"""Device and inode."""

BITS = stat.S_ISUID | stat.S_ISGID
POINT = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Cleared:
    """A file or folder with bits that it had not, and whether it lost them."""

    path: str
    done: bool


@dataclass(frozen=True, slots=True)
class Privileges:
    """The bits of a folder when the work began.

    Attributes:
        folder: the operator's.
        passed: folders in it that no box can change.
        standing: what had such bits: which, and the time of its last change.
    """

    folder: Path
    passed: Collection[Identity]
    standing: dict[Identity, tuple[int, int]]

    @classmethod
    def begin(cls, folder: Path, passed: Collection[Identity]) -> Privileges:
        """Look at a folder before a box gets it."""
        view = cls(folder, passed, {})
        view.each(clear=False)
        return view

    def clear(self) -> tuple[list[Cleared], list[str]]:
        """Take away the bits that were not there at the start; where nobody could look.

        A file that had them keeps them if nothing was done to it since, a folder in any case. A
        new folder has the set-gid bit of the folder above it by right.
        """
        return self.each(clear=True)

    def each(self, *, clear: bool) -> tuple[list[Cleared], list[str]]:
        """Walk the folder, note the bits of it or clear them."""
        found = []
        root = open_source(self.folder)
        try:
            walk = Walk(root, MAX_SEEN)
            if clear:
                found += self.visit(root, b".", ".")
            else:
                self.note(os.fstat(root))
            for item in walk:
                if item.kind == "link":
                    continue
                with suppress(FileNotFoundError):
                    status = os.stat(item.name, dir_fd=item.folder, follow_symlinks=False)
                    if identity(status) in self.passed:
                        walk.skip()
                    elif not clear:
                        self.note(status)
                    elif status.st_mode & BITS:
                        found += self.visit(item.folder, item.name, to_text(item.path))
            return found, [to_text(path) for path, _ in walk.bounds]
        finally:
            os.close(root)

    def note(self, status: os.stat_result) -> None:
        """Keep the bits that a file or folder has now."""
        if status.st_mode & BITS:
            self.standing[identity(status)] = (status.st_mode & BITS, status.st_ctime_ns)

    def visit(self, folder: int, name: bytes, path: str) -> list[Cleared]:
        """Clear one name of an open folder, if it is to be."""
        point = os.open(name, POINT, dir_fd=folder)
        try:
            status = os.fstat(point)
            above = None if path == "." else os.fstat(folder)
            surplus = status.st_mode & BITS & ~self.due(status, above)
            if not surplus:
                return []
            # By the descriptor: a name could be a link by now, and a file need not be readable.
            os.chmod(f"/proc/self/fd/{point}", stat.S_IMODE(status.st_mode) & ~surplus)
        except OSError:
            return [Cleared(path, done=False)]
        finally:
            os.close(point)
        return [Cleared(path, done=True)]

    def due(self, status: os.stat_result, above: os.stat_result | None) -> int:
        """The bits that a file or folder may keep."""
        bits, changed = self.standing.get(identity(status), (0, 0))
        if not stat.S_ISDIR(status.st_mode):
            return bits if changed == status.st_ctime_ns else 0
        if above is not None and above.st_gid == status.st_gid:
            bits |= above.st_mode & stat.S_ISGID
        return bits


def identity(status: os.stat_result) -> Identity:
    """What tells a file from all others while it is there."""
    return status.st_dev, status.st_ino
