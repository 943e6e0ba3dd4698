"""Looking at what a running call uses, where no kernel counter bounds the whole of it."""

import posix as os
import time

from runners.supervisor import tree
from runners.supervisor.call import Call
from runners.supervisor.object import Objects

TYPE_CHECKING = False
if TYPE_CHECKING:  # imports for annotations cost milliseconds at start
    from typing import Any

__all__ = ["Poller"]

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")

EVERY = 0.1
OFTEN = 0.02
"""While the number of processes or of files grows fast."""


class Store:
    """A folder in memory, whose files cost memory though they be empty."""

    def __init__(self, name: str, most: int) -> None:
        self.fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self.most = most
        self.used = 0
        self.filling = False

    def count(self) -> None:
        """How many files it holds now."""
        state = os.fstatvfs(self.fd)
        self.used = state.f_files - state.f_ffree

    def overfull(self) -> bool:
        """Whether it holds too many files, and more than when they were last counted."""
        before = self.used
        self.count()
        self.filling = self.used - before > self.most // 64
        return self.used > max(before, self.most)


class Poller:
    """Sums over the descendants of a call's slot; names the limit that is exceeded.

    It sees what was there at the moment of looking: a fast allocator can overshoot in between,
    which is why the outcome names the poller as its evidence.
    """

    def __init__(
        self,
        view: tree.Tree,
        *,
        memory: bool,
        processes: bool,
        inodes: "dict[str, int]",
        own_ipc: bool,
    ) -> None:
        self.view = view
        self.stores = [Store(name, most) for name, most in inodes.items()]
        self.memory = memory
        self.objects = Objects(own_ipc=own_ipc)
        self.processes = processes
        self.next: dict[int, tuple[float, int, int | None]] = {}

    def due(self, call: Call) -> float:
        """When to look at this call."""
        known = self.next.get(call.number)
        if known is None:
            for store in self.stores:
                store.count()  # what earlier calls left since their last look is not its doing
            known = self.next[call.number] = (call.began + OFTEN, 0, None)
        return known[0]

    def forget(self, call: Call) -> None:
        """The call is over."""
        self.next.pop(call.number, None)

    def look(self, call: Call, slot_pid: int, limits: "dict[str, Any]") -> str:
        """The name of an exceeded limit, else ""."""
        began = time.monotonic()
        _, before, base = self.next.get(call.number, (0, 0, None))
        own = tree.stat_fields(slot_pid)
        reaped = (int(own[13]) + int(own[14])) if own else 0
        base = reaped if base is None else base
        members = self.view.descendants(slot_pid)
        threads, pages, ticks = 0, 0, reaped - base
        for pid in members:
            fields = tree.stat_fields(pid)
            if fields:
                threads += int(fields[17])
                pages += int(fields[21])
                ticks += sum(int(fields[index]) for index in (11, 12, 13, 14))
        call.peak = max(call.peak, pages * PAGE)
        now = time.monotonic()
        overfull = [store.overfull() for store in self.stores]
        fast = threads > 2 * before + 4 or any(store.filling for store in self.stores)
        pause = OFTEN if fast else EVERY
        self.next[call.number] = (now + max(pause, 20 * (now - began)), threads, base)
        if ticks / TICKS > limits["cpu_seconds"]:
            return "cpu_seconds"
        if any(overfull):
            return "disk_mib"
        if self.processes and threads > limits["processes"]:
            return "processes"
        most = limits["memory_mib"] << 20
        if self.memory:
            held = self.objects.size(members)
            if pages * PAGE + held > most and _shared_once(members, held) > most:
                return "memory_mib"
        return ""


def _shared_once(members: "list[int]", objects: int) -> int:
    """Resident bytes with pages that several share counted once; plain size where unreadable.

    Of ``objects`` those bytes count that nobody has mapped.
    """
    total = mapped = 0
    for pid in members:
        text = tree.read(b"/proc/%d/smaps_rollup" % pid)
        at = text.find(b"\nPss:")
        if at >= 0:
            total += int(text[at + 5 :].split(None, 1)[0]) * 1024
            at = text.find(b"\nPss_Shmem:")
            mapped += int(text[at + 11 :].split(None, 1)[0]) * 1024 if at >= 0 else 0
            continue
        fields = tree.stat_fields(pid)
        total += int(fields[21]) * PAGE if fields else 0
    return total + max(0, objects - mapped)
