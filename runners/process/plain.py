"""The process box without namespaces: a folder of the host, and what Landlock lets through."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from runners.contract import ROOTS, Root, SessionSpec
from runners.errors import StartError, UnavailableError
from runners.layout import HOST_ETC
from runners.removal import remove_folder
from runners.setup import Access

__all__ = ["Premises", "refuse_fixed_paths", "rules", "sweep_premises"]

ROOT_FOLDER = Path("/run/stockade/sessions")

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
READABLE_ETC = (*HOST_ETC, "passwd", "group", "hosts", "resolv.conf")
DEVICES = ("null", "zero", "full", "tty")
READABLE_DEVICES = ("urandom", "random")
# All of /proc would show other people's command lines; without these, runtimes see no processors.
READABLE_PROC = (
    "cpuinfo", "meminfo", "stat", "version", "filesystems", "loadavg", "uptime", "vmstat", "sys",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Premises:
    """The folder of one session, locked while its harness lives."""

    folder: Path
    lock: int

    @classmethod
    def make(cls, name: str, user: tuple[int, int] | None) -> Premises:
        """A new folder with an empty one for each root and for HOME."""
        folder = premises_folder() / name
        folder.mkdir(mode=0o711 if user else 0o700)
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for part in (*ROOTS, "home"):
                (folder / part).mkdir(mode=0o700)
                if user:  # empty and new: nobody can have put a link in its place
                    os.chown(folder / part, *user)
        except BaseException:
            os.close(lock)
            raise
        return cls(folder, lock)

    @property
    def roots(self) -> Mapping[Root, str]:
        """Where each root lies."""
        return {root: str(self.folder / root) for root in ROOTS}

    @property
    def home(self) -> str:
        """Programs' HOME."""
        return str(self.folder / "home")

    @property
    def environment(self) -> tuple[tuple[str, str], ...]:
        """Where tasks find what has fixed paths in other boxes (decision 1)."""
        names: tuple[Root, ...] = ("tests", "logs", "solution")
        return tuple((f"STOCKADE_{name.upper()}", self.roots[name]) for name in names)

    def remove(self) -> None:
        """After the last process of the session is gone."""
        try:
            remove_folder(self.folder)
        finally:
            os.close(self.lock)


def premises_folder() -> Path:
    """The folder of all sessions: root's, or this user's own, which nobody else can prepare."""
    if os.geteuid() == 0:
        ROOT_FOLDER.mkdir(mode=0o711, parents=True, exist_ok=True)
        ROOT_FOLDER.parent.chmod(0o711)
        return ROOT_FOLDER
    folder = Path(tempfile.gettempdir()) / f"stockade-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise StartError(f"{folder} is not a folder of yours alone: remove it, or set TMPDIR")
    return folder


def sweep_premises() -> list[str]:
    """Remove the folders of dead sessions."""
    swept = []
    for folder in sorted(premises_folder().iterdir()):
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        Premises(folder, lock).remove()
        swept.append(f"folder {folder}")
    return swept


def rules(premises: Premises) -> tuple[tuple[str, Access], ...]:
    """What a program may reach; all else of the host's files is closed."""
    return tuple(rule for rule in every_rule(premises) if Path(rule[0]).exists())


def every_rule(premises: Premises) -> Iterator[tuple[str, Access]]:
    """Also for files that this host may not have."""
    for path in (*premises.roots.values(), premises.home):
        yield (path, "rwx")
    for path in SYSTEM:
        yield (path, "rx")
    for name in READABLE_ETC:
        yield (f"/etc/{name}", "r")
    for name in DEVICES:
        yield (f"/dev/{name}", "dev")
    for name in READABLE_DEVICES:
        yield (f"/dev/{name}", "r")
    for name in READABLE_PROC:
        yield (f"/proc/{name}", "r")
    yield ("/sys/devices/system/cpu", "r")


def refuse_fixed_paths(spec: SessionSpec) -> None:
    """Without a mount namespace every path is the host's (decision 1, 21)."""
    cure = "use another box, or a machine where the process box has namespaces"
    if spec.in_place is not None:
        raise UnavailableError(
            f"the process box has no mount namespace here, so it cannot work in place: {cure}"
        )
    if spec.workspace != SessionSpec(run="").workspace:
        raise UnavailableError(
            "the process box has no mount namespace here, so it cannot give the workspace the "
            f"path {spec.workspace}: {cure}"
        )
    if spec.image not in ("python", "host"):
        raise UnavailableError(
            "the process box has no mount namespace here, so it has the host's programs only, "
            f"not image {spec.image!r}: {cure}"
        )
