"""Who made a box, a folder or a lock, and whether that process still lives.

What a killed harness leaves behind is swept only when its owner is certainly dead. A pid alone
says nothing (pids are used again, and mean something else on another machine or in another pid
namespace), so an owner is a pid with its start time, its pid namespace and its boot.
"""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

__all__ = ["Owner"]

MARK = "o1"  # the first field: a later form can be told apart
NONE = "-"


@dataclass(frozen=True, slots=True)
class Owner:
    """One process of one machine.

    Attributes:
        host: a digest of the machine's id, ``-`` where it has none.
        boot: id of the boot; a machine that started again has another one.
        namespace: the pid namespace in which ``pid`` counts.
        pid: the process.
        start: when it started, in the kernel's own unit.
    """

    host: str
    boot: str
    namespace: str
    pid: int
    start: str

    @classmethod
    def me(cls) -> Owner:
        """This process."""
        pid = os.getpid()
        return cls(host_id(), boot_id(), namespace_id(), pid, start_time(pid) or NONE)

    @classmethod
    def parse(cls, text: str) -> Owner:
        """The owner that ``str()`` wrote; ValueError for anything else."""
        fields = text.split(":")
        if len(fields) != 6 or fields[0] != MARK or not all(fields):
            raise ValueError(f"not an owner: {text!r}")
        _, host, boot, namespace, pid, start = fields
        if not (pid.isascii() and pid.isdigit() and pid == str(int(pid))):
            raise ValueError(f"not an owner: {text!r}")
        return cls(host, boot, namespace, int(pid), start)

    def __str__(self) -> str:
        return ":".join((MARK, self.host, self.boot, self.namespace, str(self.pid), self.start))

    def state(self) -> Literal["alive", "dead", "unknown"]:
        """Whether the process lives, as far as this process can know.

        ``unknown``: it belongs to another machine, or to a pid namespace that is not ours.
        """
        if self.boot != boot_id():
            same_machine = self.host != NONE and self.host == host_id()
            return "dead" if same_machine else "unknown"
        if self.namespace != namespace_id():
            return "unknown"
        return "alive" if start_time(self.pid) == self.start else "dead"


@cache
def host_id() -> str:
    """A digest of the machine's id: the id itself is not for publication (machine-id(5))."""
    for name in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            text = Path(name).read_text("ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
        if text and text != "uninitialized":
            return hashlib.sha256(b"stockade owner " + text.encode()).hexdigest()[:16]
    return NONE


@cache
def boot_id() -> str:
    """The kernel's id of this boot."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        import psutil

        return f"t{psutil.boot_time():.0f}"


def namespace_id() -> str:
    """The pid namespace of this process, as the kernel numbers it."""
    try:
        return Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")
    except OSError:
        return NONE


def start_time(pid: int) -> str | None:
    """When a living process started, None when there is none (a zombie is dead, too)."""
    if not sys.platform.startswith("linux"):
        return start_time_elsewhere(pid)
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = stat[stat.rindex(")") + 2 :].split()  # the name may hold spaces and parentheses
    return None if fields[0] in "ZX" else fields[19]


def start_time_elsewhere(pid: int) -> str | None:
    """The same where there is no /proc."""
    import psutil

    try:
        return f"{psutil.Process(pid).create_time():.2f}"
    except psutil.Error:
        return None
