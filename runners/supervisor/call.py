"""One call as the supervisor sees it: its streams, its deadline, how it came to its end."""

import errno
import fcntl
import posix as os
import time

from runners.supervisor import frames
from runners.supervisor.box import Box
from runners.supervisor.tap import CHUNK, Tap

TYPE_CHECKING = False
if TYPE_CHECKING:  # imports for annotations cost milliseconds at start
    from typing import Any

    from runners.supervisor.crew import Slot

__all__ = ["Call"]

SIGKILL, SIGXCPU, SIGXFSZ = 9, 24, 25

F_SETPIPE_SZ = 1031
NOT_STARTED = 126
PIPE_SIZE = 1 << 20
TOP_UP = frames.WINDOW // 4
"""Credit is given back in lumps; until then the harness has the rest of the window to send."""

WAITING, RUNNING, DRAINING, OVER = range(4)


def output_pipe() -> "tuple[int, int]":
    """A pipe for output: we read without waiting, the program writes as it is used to."""
    ours, theirs = os.pipe2(os.O_CLOEXEC)
    fcntl.fcntl(ours, fcntl.F_SETFL, os.O_RDONLY | os.O_NONBLOCK)
    return ours, theirs


def widen(fd: int) -> None:
    """Let a pipe hold much, for whole trees of files."""
    try:
        fcntl.fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE)
    except OSError:
        pass  # no pipe, or the quota of the user is used up: it is only slower


class Call:
    """From OPEN to the frame ``done``."""

    def __init__(
        self, number: int, operation: str, request: "dict[str, Any]", payload: bytes
    ) -> None:
        self.number = number
        self.operation = operation
        self.request = request
        self.payload = payload
        self.state = WAITING
        self.program = operation == "run"
        self.began = time.monotonic()
        self.deadline = self.began + request["wall"]
        self.taps: list[Tap] = []
        self.feed = -1
        self.input: list[memoryview] = []
        self.input_ended = False
        self.owed = 0
        self.slot: Slot | None = None
        self.reason = ""  # why we ended it: timed_out, cancelled, killed_by_limit, lost
        self.limit = ""
        self.stages_ended = False
        self.sweep_began = 0.0
        self.sweep_next = 0.0
        self.facts: tuple[Any, ...] = ()
        self.before: dict[str, int] = {}
        self.peak = 0
        self.watched = False
        self.fed = False
        self.tries = 0

    def open_streams(self, spare: "list[tuple[int, int]]", ends: "list[int]") -> None:
        """Make the pipes, of ``spare`` ones as far as they go; ``ends`` gets those for the slot."""
        if self.request["feed"]:
            theirs, self.feed = os.pipe2(os.O_CLOEXEC)
            fcntl.fcntl(self.feed, fcntl.F_SETFL, os.O_WRONLY | os.O_NONBLOCK)
            ends.append(theirs)
        for stream in (1, 2) if self.program else (1,):
            ours, theirs = spare.pop() if spare else output_pipe()
            chunk = CHUNK if self.program else frames.BODY_MAX
            self.taps.append(Tap(self.number, stream, ours, self.request["keep"], chunk))
            ends.append(theirs)
        if not self.program:
            for fd in ends:
                widen(fd)

    def feed_input(self) -> "bytes | None":
        """Write what the reader takes now; a frame for the harness, or None."""
        taken = 0
        while self.input:
            data = self.input[0]
            try:
                count = os.write(self.feed, data)
            except OSError as error:
                if error.errno == errno.EAGAIN:
                    break
                self.close_feed()
                return frames.reply('{"t":"stop","c":%d}' % self.number)
            taken += count
            self.fed = True
            if count < len(data):
                self.input[0] = data[count:]
                break
            self.input.pop(0)
        if self.input_ended and not self.input:
            self.close_feed()
            return None
        self.owed += taken
        if self.owed < TOP_UP:
            return None
        owed, self.owed = self.owed, 0
        return frames.reply('{"t":"credit","c":%d,"n":%d}' % (self.number, owed))

    def close_feed(self) -> None:
        """The program sees the end of its input."""
        if self.feed >= 0:
            os.close(self.feed)
            self.feed = -1
        self.input = []

    def close(self) -> None:
        """Give back every descriptor."""
        self.close_feed()
        for tap in self.taps:
            tap.drop()

    def refused(self, why: str) -> None:
        """The box had no slot for it: the answer that a program gives who cannot be started."""
        if self.program:
            codes = [NOT_STARTED] * len(self.request["stages"])
            self.facts = codes, "the box has no room for another call: %s" % why, 0.0, 0.0, 0.0, 0
        else:
            self.facts = "fault", "busy", b"", "the box has no room for another call: %s" % why

    def end(self, reason: str, limit: str = "") -> bool:
        """Note why the call is to end; False when that is known already, or too late."""
        if self.reason or self.state in (DRAINING, OVER):
            return False
        if reason != "cancelled" and self.stages_ended:
            return False
        self.reason = reason
        self.limit = limit
        return True

    def done(self, box: Box, after: "dict[str, int]") -> bytes:
        """The last frame."""
        if self.program:
            body = self._outcome(box, after)
        elif self.reason:
            body = '"fault":' + frames.json_text(["other", b"", self._interrupted()])
        elif self.facts[0] == "value":
            body = '"value":' + self.facts[1]
        else:
            body = '"fault":' + frames.json_text(self.facts[1:])
        totals = ",".join(["%d" % tap.total for tap in self.taps])
        head = '{"t":"done","c":%d,"totals":[%s],%s}' % (self.number, totals, body)
        return frames.reply(head)

    def _interrupted(self) -> str:
        if self.reason == "timed_out":
            return "it took longer than %g seconds" % self.request["wall"]
        return "it was ended: %s" % self.reason

    def _outcome(self, box: Box, after: "dict[str, int]") -> str:
        """The facts of a program, by hand: this is on the way of every call."""
        codes, error, wall, cpu, cpu_most, rss = self.facts
        before = self.before
        hits = []
        if after is not before:
            hits = [[limit, "counter"] for limit in after if after[limit] > before[limit]]
        limits = self.request["limits"] or box.limits
        for code in codes:
            if code == -SIGXCPU or (code == -SIGKILL and cpu_most >= limits["cpu_seconds"]):
                hits.append(["cpu_seconds", "signal"])
            if code == -SIGXFSZ:
                hits.append(["file_mib", "signal"])
        ending, limit = self._ending(codes, hits)
        if len(hits) > 1:
            hits = [hit for index, hit in enumerate(hits) if hit not in hits[:index]]
        if self.reason in ("killed_by_limit", "timed_out"):
            hits.append([self.limit, "poller"])
        return (
            '"ending":"%s","limit":%s,"codes":%s,"error":%s,"hits":%s,"wall":%f,"cpu":%f,"rss":%s'
            % (
                ending,
                frames.json_text(limit),
                codes,
                frames.json_text(error[:2000]),
                frames.json_text(hits) if hits else "[]",
                wall,
                cpu,
                max(rss, self.peak) or "null",
            )
        )

    def _ending(self, codes: "list[int]", hits: "list[list[str]]") -> "tuple[str, str | None]":
        memory = ["memory_mib", "counter"] in hits
        if self.reason == "lost" and memory:  # the slot is the first that the kernel takes
            return "killed_by_limit", "memory_mib"
        if self.reason:
            return self.reason, self.limit or None
        last = codes[-1]
        if last >= 0:
            return "exited", None
        moved = [name for name, _ in hits]
        if last == -SIGKILL and "memory_mib" in moved:
            return "killed_by_limit", "memory_mib"
        if last in (-SIGXCPU, -SIGKILL) and "cpu_seconds" in moved:
            return "killed_by_limit", "cpu_seconds"
        if last == -SIGXFSZ:
            return "killed_by_limit", "file_mib"
        return "signalled", None
