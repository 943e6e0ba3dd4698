"""The protected paths of a folder that is worked on in place (decision 21).

What stands there at the start is bound read-only. A bind protects no name that does not exist yet,
and follows a folder that is moved; so what stands at a protected name in the end, and did not at
the start, gets another name that no tool looks for. What merely moved with a folder above it is
what it was, and stays. Set-uid and set-gid bits go as well (see `privilege.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from runners.errors import WorkspaceError
from runners.supervisor.walk import Walk
from runners.workspace.name import shown, to_bytes, to_text
from runners.workspace.privilege import Identity, Privileges, identity
from runners.workspace.protect import PROTECTED, Protected
from runners.workspace.scan import MAX_SEEN, open_source

__all__ = ["Guard", "Trace"]


@dataclass(frozen=True, slots=True)
class Trace:
    """What a box left in a folder that nobody should come upon unawares.

    Attributes:
        kind: ``made`` at a protected name, ``moved`` with a protected one, ``cleared`` of set-uid
            or set-gid bits; ``privileged`` and ``unseen``: nothing could be done about it.
        path: where it is; of what was made, where it was.
        other: of what was made its name now ("": it could not be renamed), of what was moved its
            earlier path.
    """

    kind: Literal["cleared", "made", "moved", "privileged", "unseen"]
    path: str
    other: str = ""


@dataclass(frozen=True, slots=True)
class Guard:
    """What stood at protected names when the work began.

    Attributes:
        folder: the operator's.
        protected: the names.
        standing: what stood at them by path, outermost paths only.
        privileges: the set-uid and set-gid bits of the others.
    """

    folder: Path
    protected: Protected
    standing: dict[str, Identity]
    privileges: Privileges

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
        privileges = Privileges.begin(folder, frozenset(found.values()))
        return cls(folder, protected, found, privileges)

    @property
    def paths(self) -> tuple[str, ...]:
        """What is to be bound read-only."""
        return tuple(self.standing)

    def settle(self, mark: str) -> list[Trace]:
        """Undo what is to be undone; call it when no program runs any more."""
        found, bounds = look(self.folder, self.protected)
        traces = [
            self.judge(path, known, found, mark)
            for path, known in found.items()
            if self.standing.get(path) != known
        ]
        cleared, unseen = self.privileges.clear()
        traces += [Trace("cleared" if one.done else "privileged", one.path) for one in cleared]
        unseen = sorted({*unseen, *(path for path, _ in bounds)})
        return traces + [Trace("unseen", path) for path in unseen]

    def judge(self, path: str, now: Identity, found: dict[str, Identity], mark: str) -> Trace:
        """What is at a protected name now: a thing that moved, or one that is put aside."""
        for earlier, known in self.standing.items():
            if known == now and found.get(earlier) != known:
                return Trace("moved", path, earlier)
        return Trace("made", path, rename(self.folder, path, mark))


def look(folder: Path, protected: Protected) -> tuple[dict[str, Identity], list[tuple[str, str]]]:
    """The outermost protected paths of a folder, and where nobody could look."""
    root = open_source(folder)
    found: dict[str, Identity] = {}
    try:
        walk = Walk(root, MAX_SEEN)
        for item in walk:
            path = to_text(item.path)
            if protected.name_of(path) is None:
                continue
            walk.skip()
            with suppress(FileNotFoundError):
                status = os.stat(item.name, dir_fd=item.folder, follow_symlinks=False)
                found[path] = identity(status)
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
