"""Server-sent events from bytes, as WHATWG HTML section 9.2 parses them; bounded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.models.fault import WireError

__all__ = ["Event", "EventParser"]

MAX_EVENT = 8 << 20
"""Bytes of one event: more than any provider sends, less than would hurt."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event; ``name`` is "" where the server gave none."""

    name: str
    data: str


class EventParser:
    """Takes bytes as they arrive, gives whole events. Comments (keep-alives) are skipped."""

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[str] = []
        self._size = 0
        self._first = True

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events that are whole now."""
        self._rest += data
        while True:
            line, found = self._line()
            if not found:
                break
            event = self._take(line)
            if event is not None:
                yield event
        if len(self._rest) + self._size > MAX_EVENT:
            raise WireError(f"one event of the stream is over {MAX_EVENT} bytes", retryable=False)

    def close(self) -> Iterator[Event]:
        """An event that the server did not end with a blank line, as some do at the end."""
        if self._rest:
            yield from self.feed(b"\n")
        event = self._take("")
        if event is not None:
            yield event

    def _line(self) -> tuple[str, bool]:
        rest = self._rest
        ends = [at for at in (rest.find(b"\n"), rest.find(b"\r")) if at >= 0]
        if not ends:
            return "", False
        end = min(ends)
        width = 1
        if rest[end : end + 1] == b"\r":
            if end + 1 == len(rest):
                return "", False  # the other half of a CRLF may still come
            width = 2 if rest[end + 1 : end + 2] == b"\n" else 1
        raw, self._rest = rest[:end], rest[end + width :]
        if self._first:
            self._first = False
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        return raw.decode("utf-8", "replace"), True

    def _take(self, line: str) -> Event | None:
        if not line:
            if not self._data:
                self._name = ""
                return None
            event = Event(self._name, "\n".join(self._data))
            self._name, self._data, self._size = "", [], 0
            return event
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if key == "data":
            self._data.append(value)
            self._size += len(value)
        elif key == "event":
            self._name = value
        return None
