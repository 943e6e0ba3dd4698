"""Who descends from a process, and ending them all.

The lists come from ``/proc/P/task/T/children``, else (gVisor) from the parent of every process,
else (no /proc at all) there is no list and only ``kill(-1)`` is left.
"""

import _signal  # type: ignore[import-not-found]
import posix as os

__all__ = ["Tree"]

SIGKILL = 9


class Tree:
    """A view of the processes; ``alone`` says that no pid here is a stranger's."""

    def __init__(self, *, alone: bool) -> None:
        self.alone = alone
        self.listed = _readable(b"/proc/self/stat")
        self.quick = _readable(b"/proc/self/task/%d/children" % os.getpid())

    def children(self, pid: int) -> "list[int]":
        """The direct children of a process, zombies included."""
        if not self.quick:
            return self._parents().get(pid, [])
        found: list[int] = []
        folder = b"/proc/%d/task/" % pid
        try:
            for thread in os.listdir(folder):
                found += _numbers(folder + thread + b"/children")
        except OSError:
            pass  # it is gone
        return found

    def descendants(self, pid: int) -> "list[int]":
        """Everything below a process; parents stand before their children."""
        if self.quick:
            found = self.children(pid)
            for child in found:  # grows while it is walked
                found += self.children(child)
            return found
        parents = self._parents()
        found = list(parents.get(pid, ()))
        for child in found:
            found += parents.get(child, ())
        return found

    def kill(self, pid: int) -> int:
        """One sweep: SIGKILL to everything below ``pid``; how many were seen."""
        found = self.descendants(pid)
        family = {pid, *found}
        for child in found:
            if self.alone:
                end(child)
            else:
                end_checked(child, family)
        return len(found)

    def _parents(self) -> "dict[int, list[int]]":
        found: dict[int, list[int]] = {}
        if not self.listed:
            return found
        for name in os.listdir(b"/proc"):
            if name.isdigit():
                parent = parent_of(int(name))
                if parent is not None:
                    found.setdefault(parent, []).append(int(name))
        return found


def end(pid: int, number: int = SIGKILL) -> None:
    """Send a signal to a process that may be gone."""
    try:
        os.kill(pid, number)
    except OSError:
        pass


def end_checked(pid: int, family: "set[int]") -> None:
    """Kill ``pid`` unless its number belongs to a stranger by now: held, then looked at again."""
    try:
        handle = os.pidfd_open(pid)
    except (AttributeError, OSError):
        if parent_of(pid) in family:
            end(pid)
        return
    try:
        if parent_of(pid) in family:
            _signal.pidfd_send_signal(handle, SIGKILL)
    except OSError:
        pass
    finally:
        os.close(handle)


def stat_fields(pid: int) -> "list[bytes]":
    """The fields of /proc/P/stat after the name: state, parent, ...; [] when it is gone."""
    text = read(b"/proc/%d/stat" % pid)
    return text[text.rfind(b")") + 2 :].split()


def parent_of(pid: int) -> "int | None":
    """The parent of a process, None when it is gone."""
    fields = stat_fields(pid)
    return int(fields[1]) if fields else None


def read(name: bytes) -> bytes:
    try:
        fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts: list[bytes] = []
        while True:
            part = os.read(fd, 65536)
            if not part:
                return b"".join(parts)
            parts.append(part)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _numbers(name: bytes) -> "list[int]":
    return [int(word) for word in read(name).split()]


def _readable(name: bytes) -> bool:
    try:
        os.close(os.open(name, os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
