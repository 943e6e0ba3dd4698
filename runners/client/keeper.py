"""Keeping the head and the tail of a stream whose pieces may have gaps."""

from __future__ import annotations

from runners.outcome import Capture

__all__ = ["Keeper"]


class Keeper:
    """Never holds more than twice ``keep`` bytes and one piece."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._head = bytearray()
        self._tail = bytearray()
        self._whole = True
        self.position = 0

    def add(self, at: int, data: bytes) -> None:
        """The next piece, at an offset that is not before the end of the last one."""
        if at > self.position:
            self._whole = False
            self._tail.clear()
        self.position = at + len(data)
        if self._whole and len(self._head) < self._keep:
            room = self._keep - len(self._head)
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self._keep:
            self._cut()

    def _cut(self) -> None:
        if len(self._tail) > self._keep:
            del self._tail[: len(self._tail) - self._keep]

    def capture(self, total: int) -> Capture:
        """What is kept of ``total`` bytes that were written."""
        self._cut()
        if total > self.position:
            self._tail.clear()  # these are not the last bytes
        return Capture(bytes(self._head), bytes(self._tail), max(total, self.position))
