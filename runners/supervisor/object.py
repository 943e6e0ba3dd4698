"""Memory that is in no process: files without a name, SysV segments and semaphores.

A process that makes itself unreadable hides its descriptors from this; only a cgroup sees all.
"""

import posix as os

__all__ = ["Objects"]

BLOCK = 512
PART = 1 << 16
SIZES = ((b"shm", 14, 1), (b"sem", 3, 64))  # a column, and the bytes of memory for each unit
DESCRIPTORS_MAX = 4096


class Objects:
    """Where the kernel tells of them."""

    def __init__(self, *, own_ipc: bool) -> None:
        self.lists: list[tuple[int, int, int]] = []
        for name, column, unit in SIZES if own_ipc else ():
            try:
                held = os.open(b"/proc/sysvipc/" + name, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue
            self.lists.append((held, column, unit))
        sample = os.memfd_create("sample")
        self.device = os.fstat(sample).st_dev
        os.close(sample)

    def size(self, members: "list[int]") -> int:
        """Bytes in memory files that these processes hold open, and in all SysV objects."""
        files: dict[int, int] = {}
        looked = 0
        for pid in members:
            folder = b"/proc/%d/fd/" % pid
            try:
                names = os.listdir(folder)
            except OSError:
                continue  # gone, or unreadable
            looked += len(names)
            if looked > DESCRIPTORS_MAX:
                break
            for name in names:
                try:
                    found = os.stat(folder + name)
                except OSError:
                    continue
                if found.st_dev == self.device:
                    files[found.st_ino] = found.st_blocks * BLOCK
        return sum(files.values()) + sum([_total(*kind) for kind in self.lists])


def _total(held: int, column: int, unit: int) -> int:
    """The sum of one column of a list."""
    at = total = 0
    text = b""
    while True:
        part = os.pread(held, PART, at)
        if not part:
            break
        at += len(part)
        text += part
    for line in text.splitlines()[1:]:
        total += int(line.split()[column])
    return total * unit
