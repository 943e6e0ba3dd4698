"""A slot: a child of the supervisor that runs one call at a time and is the parent of all of it.

It does nothing but start, wait and answer. It never kills: the supervisor does, from outside,
because a program may stop or kill the slot. What the slot gets and says, one message each:

    in    "P" and values, or "M" with the values in a memory file as last descriptor
          ((operation, request) and the descriptors: [feed,] stdout, stderr)
    out   "L" and the facts: the stages ended, but something of the call still lives (kill it)
    out   "D" and (own CPU seconds, whether orphans came to the slot, the facts): the call is
          over, and nothing of it exists below the slot
"""

import _signal  # type: ignore[import-not-found]
import _socket
import marshal
import posix as os
import time
from _struct import Struct

from runners.supervisor import landlock, rlimit, system
from runners.supervisor.box import Box
from runners.supervisor.operation import operate
from runners.supervisor.pipeline import IGNORED, Pipeline

TYPE_CHECKING = False
if TYPE_CHECKING:  # imports for annotations cost milliseconds at start
    from typing import Any

__all__ = ["MESSAGE_MAX", "main", "receive", "send"]

MESSAGE_MAX = 64 * 1024
PR_SET_CHILD_SUBREAPER = 36
INT = Struct("i")
COUNT = Struct("=Q")


def send(sock: _socket.socket, message: bytes, fds: "list[int]") -> None:
    """One message with descriptors, without waiting."""
    rights = b"".join([INT.pack(fd) for fd in fds])
    control = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)]
    sock.sendmsg([message], control, _socket.MSG_DONTWAIT | _socket.MSG_NOSIGNAL)


def receive(sock: _socket.socket) -> "tuple[bytes, list[int]]":
    """The next message; b"" when the supervisor is gone."""
    room = _socket.CMSG_SPACE(4 * INT.size)
    message, control, _, _ = sock.recvmsg(MESSAGE_MAX, room, _socket.MSG_CMSG_CLOEXEC)
    fds: list[int] = []
    for _, _, data in control:
        fds += [number for (number,) in INT.iter_unpack(data[: len(data) // INT.size * INT.size])]
    return message, fds


def counted(counter: int) -> int:
    """How many calls a slot has begun, by its memory file; also told after its death."""
    data = os.pread(counter, COUNT.size, 0)
    return int(COUNT.unpack(data)[0]) if data else 0


def main(
    sock: _socket.socket, box: Box, limits: "tuple[tuple[int, int, int], ...]", counter: int
) -> None:
    """The life of a slot: in a fresh fork, until the supervisor is gone."""
    _keep_only({sock.fileno(), counter}, box)
    begun = 0
    for number in IGNORED:
        _signal.signal(number, _signal.SIG_IGN)
    adopts = _adopt_orphans()
    rlimit.apply(limits)
    if box.settings["landlock"] is not None:
        landlock.restrict(box.settings["landlock"])
    while True:
        message, fds = receive(sock)
        if not message:
            return
        begun += 1
        os.pwrite(counter, COUNT.pack(begun), 0)
        facts = _serve(sock, box, message, fds)
        sock.send(b"D" + marshal.dumps((time.process_time(), adopts, facts), 2))


def _adopt_orphans() -> bool:
    """Become the parent of all orphans below; gVisor lets only its first process."""
    try:
        system.prctl(PR_SET_CHILD_SUBREAPER, 1)
    except OSError:
        return False
    return True


def _serve(sock: _socket.socket, box: Box, message: bytes, fds: "list[int]") -> "tuple[Any, ...]":
    data = _content(fds.pop()) if message[:1] == b"M" else message[1:]
    operation, request = marshal.loads(data)
    if operation != "run":
        return operate(operation, request, box, fds)
    pipeline = Pipeline(box)
    pipeline.start(request, fds)
    if not pipeline.wait():
        sock.send(b"L" + marshal.dumps(pipeline.facts(), 2))
        pipeline.drained()
    return pipeline.facts()


def _content(fd: int) -> bytes:
    """All bytes of a memory file."""
    size = os.fstat(fd).st_size
    data = os.pread(fd, size, 0)
    os.close(fd)
    return data


def _keep_only(kept: "set[int]", box: Box) -> None:
    """Close the supervisor's descriptors; 0 and 1 become the null device, 2 stays."""
    os.dup2(box.null, 0, False)
    os.dup2(box.null, 1, False)
    low = 2
    for wanted in sorted({*kept, box.null, *[root.fd for root in box.roots.values()]}):
        os.closerange(low + 1, wanted)
        low = wanted
    os.closerange(low + 1, 1 << 16)
