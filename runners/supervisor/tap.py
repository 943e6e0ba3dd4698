"""One output stream of a call: what is passed on, what is kept for the end, what is dropped."""

import errno
import posix as os

from runners.supervisor import frames

__all__ = ["Tap"]

CHUNK = 64 * 1024
"""What a pipe of a program holds; one of an operation may hold more."""


class Tap:
    """The reading end of a program's stdout (1) or stderr (2).

    The first ``keep`` bytes go out as they come, as far as there is credit; of what follows the
    last ``keep`` bytes are held and go out at the end. So a flood is read at full speed and
    counted, and never needs more memory than that. ``keep`` None: everything goes out as it
    comes, and a slow reader slows the program.
    """

    def __init__(self, call: int, stream: int, fd: int, keep: "int | None", chunk: int) -> None:
        self.call = call
        self.stream = stream
        self.fd = fd
        self.keep = keep
        self.chunk = chunk
        self.credit = frames.WINDOW
        self.total = 0
        self.sent = 0
        self.tail: list[bytearray] = []
        self.held = 0

    @property
    def open(self) -> bool:
        """Whether more may come from the program."""
        return self.fd >= 0

    @property
    def finished(self) -> bool:
        """Whether everything that is to be passed on was passed on."""
        return self.fd < 0 and not self.tail

    @property
    def readable(self) -> bool:
        """Whether reading now has a place for what comes."""
        return self.fd >= 0 and (self._past_head() or self.credit > 0)

    def _past_head(self) -> bool:
        return self.keep is not None and self.total >= self.keep

    def read(self) -> "bytes | None":
        """Read once: a frame to send, b"" when it was kept, None when there is nothing now."""
        most = self.chunk
        if not self._past_head():
            most = min(self.chunk, self.credit)
            if self.keep is not None:
                most = min(most, self.keep - self.total)
        try:
            data = os.read(self.fd, most)
        except OSError as error:
            if error.errno != errno.EAGAIN:
                self.close()
            return None
        if not data:
            self.close()
            return None
        past = self._past_head()
        self.total += len(data)
        if not past:
            return self._frame(self.total - len(data), data)
        self._hold(data)
        return b""

    def flush(self) -> "bytes | None":
        """After the program's end: the next frame of the held tail, None when there is none."""
        if self.fd >= 0 or not self.tail or self.credit <= 0:
            return None
        data = self.tail.pop(0)
        if len(data) > self.credit:
            self.tail.insert(0, data[self.credit :])
            data = data[: self.credit]
        self.held -= len(data)
        return self._frame(self.total - self.held - len(data), data)

    def close(self) -> None:
        """No more is read; the tail is cut to what is to be kept."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
            if self.keep is not None and self.held > self.keep:
                extra = self.held - self.keep
                self.tail[0] = self.tail[0][extra:]
                self.held = self.keep

    def drop(self) -> None:
        """Nobody wants the rest."""
        self.close()
        self.tail = []
        self.held = 0

    def _frame(self, at: int, data: "bytes | bytearray") -> bytes:
        self.credit -= len(data)
        head = '{"t":"out","c":%d,"s":%d,"at":%d}' % (self.call, self.stream, at)
        return frames.reply(head, data)

    def _hold(self, data: bytes) -> None:
        if self.tail and len(self.tail[-1]) < CHUNK // 2:
            self.tail[-1] += data
        else:
            self.tail.append(bytearray(data))
        self.held += len(data)
        keep = self.keep or 0
        while self.held - len(self.tail[0]) >= keep:
            self.held -= len(self.tail.pop(0))
