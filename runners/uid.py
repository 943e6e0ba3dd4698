"""A uid of its own for each session that root starts.

The range is one that no distribution gives to anybody (systemd documents it as unused), so no
service and no person shares processes, files or process counts with a program. A uid is claimed
by a lock on a file: the kernel lets go of it when the harness dies, and whoever claims the uid
next, or sweeps, first removes what is left of it.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from runners.cgroup import remove_groups
from runners.errors import StartError

__all__ = ["UidClaim", "processes_of", "sweep_uids"]

FIRST_UID = 1879048192 + 1
COUNT = 4096
LOCKS = Path("/run/stockade/uids")  # machine-wide, whatever the harness's HOME: so is the range
BROOM_SECONDS = 5.0
IPC_RMID = 0


class UidClaim:
    """A claimed uid (and the gid of the same number), until ``release``."""

    def __init__(self, uid: int, lock: int) -> None:
        self.uid = uid
        self.gid = uid
        self._lock: int | None = lock

    @classmethod
    def take(cls, folder: Path = LOCKS) -> UidClaim:
        """Claim a free uid.

        One that a dead session left is only taken, and cleansed, where no clean one is free:
        cleansing takes time, and is a sweep's work.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        claim = cls._first(folder, dirty=False) or cls._first(folder, dirty=True)
        if claim is None:
            raise StartError(f"all {COUNT} session uids are taken: see {folder}")
        return claim

    @classmethod
    def _first(cls, folder: Path, *, dirty: bool) -> UidClaim | None:
        for uid in range(FIRST_UID, FIRST_UID + COUNT):
            lock = lock_file(folder / str(uid), create=True)
            if lock is None:
                continue
            try:
                if dirty:
                    cleanse(uid, lock)
                if not os.pread(lock, 1, 0):
                    os.pwrite(lock, b"used", 0)
                    return cls(uid, lock)
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)
        return None

    def release(self, *, proven: bool = False) -> None:
        """Give the uid back, after its last process is gone; safe to repeat.

        ``proven``: its PID namespace has ended, so that nothing needs to be looked for.
        """
        lock, self._lock = self._lock, None
        if lock is None:
            return
        try:
            if proven:
                remove_groups(str(self.uid))
                os.ftruncate(lock, 0)
            else:
                cleanse(self.uid, lock)
        finally:
            os.close(lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def lock_file(path: Path, *, create: bool) -> int | None:
    """A locked descriptor, or None when another process (or session) holds it."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
    lock = os.open(path, flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    except BaseException:
        os.close(lock)
        raise
    return lock


def cleanse(uid: int, lock: int) -> bool:
    """Remove what a uid has left, if it was used; True when there was something to look for."""
    if not os.pread(lock, 1, 0):
        return False
    end_processes(uid)
    remove_ipc(uid)
    remove_shared_memory(uid)
    remove_groups(str(uid))
    os.ftruncate(lock, 0)
    return True


def sweep_uids(folder: Path = LOCKS) -> list[str]:
    """Cleanse every uid whose owner is dead; the swept ones as texts."""
    if os.geteuid() != 0 or not folder.is_dir():
        return []
    swept = []
    for path in sorted(folder.iterdir()):
        if not path.name.isdigit():
            continue
        lock = lock_file(path, create=False)
        if lock is None:
            continue
        try:
            if cleanse(int(path.name), lock):
                swept.append(f"uid {path.name}")
        finally:
            os.close(lock)
    return swept


def end_processes(uid: int) -> None:
    """Kill all processes of a session uid: by the uid itself, so that nothing else can be hit."""
    deadline = time.monotonic() + BROOM_SECONDS
    while any(True for _ in processes_of(uid)):
        if time.monotonic() > deadline:
            left = ", ".join(map(str, processes_of(uid)))
            raise StartError(f"processes of session uid {uid} do not end: {left}")
        # kill(-1) by a process of that uid wins against forks in one round (boxes.md A4).
        subprocess.run(
            ["/bin/sh", "-c", "kill -s KILL -- -1"],
            user=uid,
            group=uid,
            extra_groups=[],
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        time.sleep(0.005)


def processes_of(uid: int) -> Iterator[int]:
    """Living processes whose real, effective or saved uid is this one."""
    for name in os.listdir("/proc"):  # noqa: PTH208 - names are all we need
        if not name.isdigit():
            continue
        try:
            status = Path("/proc", name, "status").read_bytes()
        except OSError:
            continue
        lines = dict(line.partition(b":")[::2] for line in status.splitlines())
        dead = lines.get(b"State", b"").split()[:1] in ([b"Z"], [b"X"])
        if not dead and str(uid).encode() in lines.get(b"Uid", b"").split():
            yield int(name)


def remove_ipc(uid: int) -> None:
    """Remove the uid's System V objects, which outlive their makers."""
    libc = ctypes.CDLL(None, use_errno=True)
    kinds = {"shm": "shmid", "sem": "semid", "msg": "msqid"}
    for kind, column in kinds.items():
        for number in ipc_objects(kind, column, uid):
            if kind == "sem":
                libc.semctl(number, 0, IPC_RMID, 0)
            else:
                getattr(libc, f"{kind}ctl")(number, IPC_RMID, None)


def ipc_objects(kind: str, column: str, uid: int) -> list[int]:
    """Ids of one kind of System V object that belong to a uid."""
    try:
        head, *rows = Path(f"/proc/sysvipc/{kind}").read_text("ascii").splitlines()
    except (OSError, ValueError):
        return []
    names = head.split()
    objects = [dict(zip(names, row.split(), strict=False)) for row in rows]
    owned = [item for item in objects if str(uid) in (item.get("uid"), item.get("cuid"))]
    return [int(item[column]) for item in owned]


def remove_shared_memory(uid: int) -> None:
    """Remove the uid's files in the host's /dev/shm."""
    try:
        with os.scandir("/dev/shm") as listed:  # noqa: S108 - the kernel's own place
            entries = list(listed)
    except OSError:
        return
    for entry in entries:
        try:
            mine = entry.stat(follow_symlinks=False).st_uid == uid
            if mine and not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)  # noqa: PTH108 - the entry itself, never what it points to
        except OSError:
            continue
