"""What a local session holds of the machine while it lives: a user, a control group, a folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from policies import Limits
from runners.cgroup import Cgroup
from runners.contract import SessionSpec
from runners.errors import UnavailableError, WorkspaceError
from runners.uid import UidClaim

__all__ = ["Hold", "session_id"]

SUPERVISOR_PROCESSES = 16  # PID 1, its thread and the slots, beside the programs' processes


@dataclass(slots=True)
class Hold:
    """Held until ``release``.

    Attributes:
        user: uid and gid to change to before anything of the box runs; None when not root.
        claim: the claim on that uid; None when it is a workspace owner's, or not root.
        group: a control group of its own; None where none can be made.
        lock: a descriptor of the in-place workspace, locked.
    """

    user: tuple[int, int] | None = None
    claim: UidClaim | None = None
    group: Cgroup | None = None
    lock: int | None = None

    @classmethod
    def take(cls, spec: SessionSpec, name: str) -> Self:
        """Claim what a session of this kind needs."""
        hold = cls()
        try:
            if spec.in_place is not None:
                hold.lock, owner = lock_workspace(spec.in_place)
                hold.user = owner if os.geteuid() == 0 else None
            elif os.geteuid() == 0:
                hold.claim = UidClaim.take()
                hold.user = (hold.claim.uid, hold.claim.gid)
                name = str(hold.claim.uid)  # whoever sweeps the uid removes the group with it
            if os.geteuid() == 0:
                hold.group = make_group(name, spec.limits)
        except BaseException:
            hold.release()
            raise
        return hold

    def release(self, *, proven: bool = False) -> None:
        """Give everything back; ``proven`` as in UidClaim. Safe to repeat."""
        claim, group, lock = self.claim, self.group, self.lock
        self.claim = self.group = self.lock = None
        if claim is not None:
            claim.release(proven=proven)
        if group is not None:
            group.remove()
        if lock is not None:
            os.close(lock)


def make_group(name: str, limits: Limits) -> Cgroup | None:
    """A group whose memory holds the programs and the files that lie in memory (decision 31)."""
    memory = limits.memory_mib + limits.disk_mib
    return Cgroup.make(name, memory, limits.processes + SUPERVISOR_PROCESSES)


def lock_workspace(folder: Path) -> tuple[int, tuple[int, int]]:
    """One session at a time, as the folder's owner; root's own folders are refused."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise WorkspaceError(f"{folder}: {error.strerror}") from error
    try:
        found = os.fstat(lock)
        if os.geteuid() == 0 and found.st_uid == 0:
            raise WorkspaceError(
                f"{folder} belongs to root: programs do not run as root in place; "
                "give it to another user, or leave out --in-place"
            )
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock, (found.st_uid, found.st_gid)
        raise UnavailableError(f"another session works in {folder} in place; wait for its end")
    except BaseException:
        os.close(lock)
        raise


def session_id(run: str) -> str:
    """Unique on this machine."""
    return f"{run}-{secrets.token_hex(4)}"
