"""What outlives a program in the box's own IPC namespace: SysV memory and semaphores.

Nothing holds them after their makers' end, and memory so lost would be lost to every later call.
"""

import posix as os

from runners.supervisor import system

__all__ = ["Leftovers"]

REMOVE = 0
KINDS = ((b"shm", (31, 195)), (b"sem", (66, 191)))
PART = 1 << 16  # the kernel gives no more than a page of them at once
ROUNDS = 4096
MEMBARRIER, GLOBAL = (324, 283), 1  # waits for a grace period of RCU
GRACE_PERIODS = 2


class Leftovers:
    """The kernel's lists of these objects, held open; none where there is no /proc."""

    def __init__(self, *, own_ipc: bool) -> None:
        self.lists: list[tuple[int, int]] = []
        self.clean: dict[int, bytes] = {}  # what a list says when nothing in it is ours
        if not own_ipc:
            return  # the filter lets nobody make any
        side = 1 if system.ARM64 else 0
        for name, removal in KINDS:
            try:
                held = os.open(b"/proc/sysvipc/" + name, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue
            self.lists.append((held, removal[side]))

    def sweep(self) -> None:
        """Remove all there is; called when no program is running."""
        removed = 0
        for held, removal in self.lists:
            for _ in range(ROUNDS):
                text = os.pread(held, PART, 0)
                if text == self.clean.get(held):
                    break
                lines = text.splitlines()[1:]
                gone = sum([_removed(removal, int(line.split(None, 2)[1])) for line in lines])
                if not gone:
                    self.clean[held] = text
                    break
                removed += gone
        if removed:
            _await_memory()


def _await_memory() -> None:
    """Wait until the kernel has given back what was removed: it frees semaphores by RCU.

    Without it the next program of a nearly full box would be killed for the last one's memory.
    """
    for _ in range(GRACE_PERIODS):
        try:
            system.syscall(MEMBARRIER[1 if system.ARM64 else 0], GLOBAL, 0)
        except OSError:
            return  # not here


def _removed(call: int, number: int) -> bool:
    words = (number, 0, REMOVE) if call in KINDS[1][1] else (number, REMOVE, 0)
    try:
        system.syscall(call, *words)
    except OSError:
        return False  # somebody else's, or gone
    return True
