"""The slots of a supervisor, seen from outside: forked, lent to calls, retired."""

import _socket
import marshal
import posix as os

from runners.supervisor import rlimit, slot, tree
from runners.supervisor.box import Box
from runners.supervisor.call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:  # imports for annotations cost milliseconds at start
    from typing import Any

    Key = tuple[tuple[int, int, int], ...]

__all__ = ["Crew", "Slot"]

IDLE_MAX = 4
OWN_CPU_SHARE = 4
"""A slot lives under the limits of its programs; it is renewed before it has used a quarter."""


class Slot:
    """One child and the socket to it."""

    def __init__(self, pid: int, sock: _socket.socket, key: "Key", counter: int) -> None:
        self.pid = pid
        self.counter = counter
        self.given = 0
        self.sock = sock
        self.fd = sock.fileno()
        self.key = key
        self.call: Call | None = None
        self.doomed = False  # killed; it may take a moment to die and must get no call

    def give(self, call: Call, fds: "list[int]") -> None:
        """Hand a call over; OSError when the slot is dead."""
        self.call = call
        self.given += 1
        call.slot = self
        message = b"P" + call.payload
        extra = []
        if len(message) > slot.MESSAGE_MAX:
            memory = os.memfd_create("request")
            os.write(memory, call.payload)
            extra.append(memory)
            message = b"M"
        try:
            slot.send(self.sock, message, fds + extra)
        finally:
            for fd in extra:
                os.close(fd)

    def began(self) -> bool:
        """Whether the last call given was begun; asked of a dead slot."""
        return slot.counted(self.counter) == self.given

    def hear(self) -> "tuple[str, tuple[Any, ...]]":
        """A message: ("L" | "D", values), or ("", ()) when it is dead."""
        try:
            data = self.sock.recv(slot.MESSAGE_MAX, _socket.MSG_DONTWAIT)
        except BlockingIOError:
            return "-", ()
        except OSError:
            data = b""
        if not data:
            return "", ()
        return data[:1].decode(), marshal.loads(data[1:])


class Crew:
    """All slots, by descriptor."""

    def __init__(self, box: Box, oom: int) -> None:
        self.box = box
        self.oom = oom
        self.slots: dict[int, Slot] = {}
        self.idle: list[Slot] = []
        self.keys: dict[tuple[float, ...], Key] = {}

    def pids(self) -> "set[int]":
        """The children that are ours."""
        return {slot.pid for slot in self.slots.values()}

    def key(self, limits: "dict[str, Any]") -> "Key":
        """What distinguishes slots: the limits they hand on."""
        values = tuple(limits.values())
        found = self.keys.get(values)
        if found is None:
            found = self.keys[values] = rlimit.rlimits(limits, nproc=self.box.settings["nproc"])
        return found

    def take(self, key: "Key") -> "tuple[Slot, bool]":
        """A free slot under these limits, and whether it is new."""
        for found in self.idle:
            if found.key == key:
                self.idle.remove(found)
                return found, False
        return self.fork(key), True

    def fork(self, key: "Key") -> Slot:
        """A new slot; OSError when there is no room for another process.

        It inherits that the kernel takes it first when memory runs out.
        """
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        counter = -1
        try:
            counter = os.memfd_create("counter")
            self._oom(b"1000")
            pid = os.fork()
        except OSError:
            self._oom(b"0")
            ours.close()
            theirs.close()
            if counter >= 0:
                os.close(counter)
            raise
        if pid == 0:
            try:
                slot.main(theirs, self.box, key, counter)
                os._exit(0)
            finally:
                os._exit(70)
        self._oom(b"0")
        theirs.close()
        made = Slot(pid, ours, key, counter)
        self.slots[made.fd] = made
        return made

    def free(self, used: Slot, own_cpu: float) -> "Slot | None":
        """Take a slot back; the one that is to be dismissed for it, if any."""
        used.call = None
        cpu = used.key[0][1]
        if used.doomed or own_cpu * OWN_CPU_SHARE > cpu:
            return used
        self.idle.append(used)
        return self.idle.pop(0) if len(self.idle) > IDLE_MAX else None

    def doom(self) -> None:
        """All slots were killed."""
        self.idle.clear()
        for found in self.slots.values():
            found.doomed = True

    def forget(self, gone: Slot) -> None:
        """Close the socket of a dead or dismissed slot; an idle one then leaves by itself."""
        self.slots.pop(gone.fd, None)
        if gone in self.idle:
            self.idle.remove(gone)
        gone.sock.close()
        os.close(gone.counter)

    def _oom(self, score: bytes) -> None:
        if self.oom >= 0:
            try:
                os.write(self.oom, score)
            except OSError:
                pass


def reap() -> bool:
    """Collect whoever ended: slots, and orphans of a slot that was killed; True: none is left."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid == 0:
            return False


def end_everything(view: tree.Tree) -> None:
    """Kill all that descends from this process, with proof where it is not PID 1."""
    import time

    until = time.monotonic() + 5
    while time.monotonic() < until:
        if view.alone:
            tree.end(-1)
        else:
            view.kill(os.getpid())
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)
