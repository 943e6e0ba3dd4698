"""A control group for one session, where this user may make one: a real limit on memory.

Version 1 (controllers in hierarchies of their own) and version 2 (one hierarchy). The counters
that tell who was killed by a limit are seen inside the box at the paths that a container has.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from runners.layout import Bind

__all__ = ["Cgroup", "Hierarchy", "find_hierarchy", "hierarchy", "memory_holder", "remove_groups"]

GROUP = "stockade"
REMOVE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Where groups are made: a folder for each controller; the same one twice for version 2."""

    version: int
    memory: Path
    pids: Path


@dataclass(frozen=True, slots=True)
class Cgroup:
    """One session's group."""

    version: int
    memory: Path
    pids: Path

    @classmethod
    def make(cls, name: str, memory_mib: int, pids: int) -> Cgroup | None:
        """A group with these limits; None where none can be made."""
        where = hierarchy()
        if where is None:
            return None
        group = cls(where.version, where.memory / GROUP / name, where.pids / GROUP / name)
        try:
            group._create(where)
            group._limit(memory_mib << 20, pids)
        except OSError:
            group.remove()
            return None
        return group

    def _create(self, where: Hierarchy) -> None:
        for folder in self._folders():
            folder.parent.mkdir(exist_ok=True)
            if where.version == 2:
                for parent in (folder.parent.parent, folder.parent):
                    (parent / "cgroup.subtree_control").write_text("+memory +pids")
            folder.mkdir()

    def _limit(self, memory: int, pids: int) -> None:
        if self.version == 2:
            limits = {self.memory / "memory.max": memory, self.pids / "pids.max": pids}
            swap = self.memory / "memory.swap.max"
            no_swap = 0
        else:
            limits = {self.memory / "memory.limit_in_bytes": memory, self.pids / "pids.max": pids}
            swap = self.memory / "memory.memsw.limit_in_bytes"
            no_swap = memory
        for file, value in limits.items():
            file.write_text(str(value))
        if swap.exists():  # absent where the kernel does not account swap
            swap.write_text(str(no_swap))

    def _folders(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys((self.memory, self.pids)))

    @property
    def entries(self) -> tuple[str, ...]:
        """Files into which a process writes its pid to enter."""
        return tuple(str(folder / "cgroup.procs") for folder in self._folders())

    def enter(self, pid: int) -> None:
        """Move a process in, before it has children."""
        for file in self.entries:
            Path(file).write_text(str(pid))

    @property
    def binds(self) -> tuple[Bind, ...]:
        """The counters, at the paths inside the box that a container would have."""
        if self.version == 2:
            return (Bind(str(self.memory), "/sys/fs/cgroup"),)
        return (
            Bind(str(self.memory), "/sys/fs/cgroup/memory"),
            Bind(str(self.pids), "/sys/fs/cgroup/pids"),
        )

    @property
    def counters(self) -> dict[str, tuple[str, ...]]:
        """The files that count limits hit, for a box that sees the host's own paths."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        return {
            "memory_mib": (str(self.memory / name),),
            "processes": (str(self.pids / "pids.events"),),
        }

    def remove(self) -> None:
        """Remove it once its last process is gone; safe to repeat."""
        for folder in self._folders():
            remove_group(folder)


def remove_group(folder: Path, seconds: float = REMOVE_SECONDS) -> bool:
    """Remove a group; a killed process leaves it a moment after it was reaped."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            os.rmdir(folder)  # noqa: PTH106 - a group's files go with it
        except FileNotFoundError:
            return True
        except OSError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        else:
            return True


def remove_groups(name: str) -> None:
    """Remove what a dead session left under its name."""
    where = hierarchy()
    if where is None:
        return
    for parent in dict.fromkeys((where.memory, where.pids)):
        remove_group(parent / GROUP / name)


def hierarchy() -> Hierarchy | None:
    """Where this process may make groups, None where it may not."""
    try:
        mounts = Path("/proc/self/mounts").read_text("utf-8", "surrogateescape")
        own = Path("/proc/self/cgroup").read_text("utf-8", "surrogateescape")
    except OSError:
        return None
    where = find_hierarchy(mounts, own)
    if where is None or not all(
        os.access(folder, os.W_OK) for folder in (where.memory, where.pids)
    ):
        return None
    return where


def memory_holder() -> str:
    """What bounds the memory of a session here, for people."""
    where = hierarchy() if os.geteuid() == 0 else None
    if where is None:
        return "a limit for each process, and a poller: a fast program can overshoot"
    return f"a control group (version {where.version})"


@lru_cache(maxsize=8)
def find_hierarchy(mounts: str, own: str) -> Hierarchy | None:
    """The hierarchy with the memory and pids controllers, from /proc/self/mounts and cgroup.

    Version 2 groups are made at its root: a group that holds processes (a shell's, ours) cannot
    have children with controllers.
    """
    points: dict[str, Path] = {}
    unified: Path | None = None
    for line in mounts.splitlines():
        _, point, kind, options, *_ = line.split()
        if kind == "cgroup":
            for option in options.split(","):
                points.setdefault(option, Path(point))
        elif kind == "cgroup2":
            unified = Path(point)
    if "memory" in points and "pids" in points:
        paths = own_paths(own)
        memory = points["memory"] / paths.get("memory", "/").lstrip("/")
        pids = points["pids"] / paths.get("pids", "/").lstrip("/")
        return Hierarchy(1, memory, pids)
    if unified is not None and not points.keys() & {"memory", "pids"}:
        return Hierarchy(2, unified, unified)
    return None


def own_paths(own: str) -> Mapping[str, str]:
    """The path of this process in each version 1 hierarchy."""
    paths: dict[str, str] = {}
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        paths.update(dict.fromkeys(controllers.split(","), path))
    return paths
