"""What a supervisor is told at its start: everything that differs from box to box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Literal

from policies import Limits
from runners.contract import Root

__all__ = ["CONTAINER_COUNTERS", "Access", "Setup"]

Access = Literal["r", "rx", "rw", "rwx", "dev"]

CONTAINER_COUNTERS: Mapping[str, tuple[str, ...]] = {
    "memory_mib": ("/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events"),
    "processes": ("/sys/fs/cgroup/pids/pids.events", "/sys/fs/cgroup/pids.events"),
}
"""Where a box with a cgroup of its own sees its counters, version 1 and 2."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The settings of one supervisor.

    Attributes:
        roots: absolute path in the box of each root; ``workspace`` must be among them.
        limits: maxima of the session.
        env: base environment of every program.
        chroot: becomes ``/`` after everything was imported.
        uid, gid: dropped to after the imports, with an empty bounding set and no groups.
        preload: import everything at the start, because the interpreter's files will be out of
            reach; implied by ``chroot``, and by ``uid`` where they lie in a closed folder.
        pid1: the supervisor is PID 1 of a PID namespace of its own, and has its own IPC
            namespace as well.
        alone: ``kill(-1)`` reaches nothing that is not of this session (a PID namespace, a uid
            of its own, or ``scope``).
        scope: the supervisor enters a Landlock domain of its own, which its signals cannot leave;
            those of its programs cannot leave theirs, which lie within it.
        own_network: the network namespace is the box's own; else programs get no sockets.
        nproc: RLIMIT_NPROC holds here (not for root, not for a uid that others use).
        seccomp: load the filter; ``ptrace``: let programs trace each other.
        landlock: rules (path, access) for programs; without any, only signals and abstract
            sockets are kept within a call; None for no Landlock.
        set_uid: programs may give files the set-uid bit; not where the workspace is a folder of the
            host's, whose owner any user could become by such a file while the box is open.
        nice: priority of programs, so that the supervisor is heard in a fork bomb.
        lease_seconds: silence of the harness after which the box ends.
        counters: files that count limits hit, by limit; only those of the box's own cgroup.
        poll: look at memory and processes while a call runs, where no cgroup holds them.
        inodes: how many files a folder may hold, watched while a call runs; for folders in memory
            that were mounted without such a limit.
        pdeathsig: die when the thread that started the supervisor ends.
    """

    roots: Mapping[Root, str]
    limits: Limits = Limits()
    env: tuple[tuple[str, str], ...] = ()
    chroot: str | None = None
    uid: int | None = None
    gid: int | None = None
    preload: bool = False
    pid1: bool = False
    alone: bool = False
    scope: bool = False
    own_network: bool = False
    nproc: bool = False
    seccomp: bool = True
    ptrace: bool = False
    set_uid: bool = True
    landlock: tuple[tuple[str, Access], ...] | None = None
    nice: int = 10
    lease_seconds: float = 60.0
    counters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    poll: bool = False
    inodes: Mapping[str, int] = field(default_factory=dict)
    pdeathsig: bool = False

    def values(self) -> dict[str, object]:
        """The payload of the SETUP frame."""
        made = {one.name: getattr(self, one.name) for one in fields(self)}
        made["limits"] = asdict(self.limits)
        made["roots"] = dict(self.roots)
        made["counters"] = dict(self.counters)
        made["inodes"] = dict(self.inodes)
        made["env"] = [(name.encode(), text.encode()) for name, text in self.env]
        return made
