"""What came of a call: an Outcome for programs, results or a Fault for files. All plain data."""

from __future__ import annotations

import enum
import hashlib
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "Capture",
    "Ending",
    "Entry",
    "Fault",
    "FileData",
    "Found",
    "LimitHit",
    "Listing",
    "Match",
    "Outcome",
    "Program",
    "Written",
]


class Ending(enum.StrEnum):
    """How a call ended (decision 9)."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    KILLED_BY_LIMIT = "killed_by_limit"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class LimitHit:
    """A limit that was reached, with the evidence for saying so."""

    limit: str  # a field name of policies.Limits
    evidence: Literal["counter", "signal", "poller"]


@dataclass(frozen=True, slots=True)
class Capture:
    """What is kept of one output stream.

    ``head`` are the first bytes, ``tail`` the last ones; ``total`` counts all that was written.
    Nothing is missing when ``len(head) + len(tail) == total``.
    """

    head: bytes = b""
    tail: bytes = b""
    total: int = 0

    @property
    def missing(self) -> int:
        """Bytes that were written but not kept."""
        return self.total - len(self.head) - len(self.tail)

    @property
    def data(self) -> bytes:
        """The kept bytes, without a mark where some are missing."""
        return self.head + self.tail

    @property
    def kept(self) -> tuple[tuple[int, int], ...]:
        """The ranges of bytes, from and to, that ``head`` and ``tail`` are of what was written."""
        parts = ((0, len(self.head)), (self.total - len(self.tail), self.total))
        if not self.missing:
            return ((0, self.total),) if self.total else ()
        return tuple(part for part in parts if part[0] < part[1])

    @property
    def sha256(self) -> str:
        """Of the kept bytes, hexadecimal; of all output when nothing is missing."""
        return hashlib.sha256(self.data).hexdigest()

    def text(self) -> str:
        """The kept output as text; invalid UTF-8 is replaced, a cut is marked with its size."""
        head = self.head.decode("utf-8", "replace")
        if not self.missing:
            return (self.head + self.tail).decode("utf-8", "replace")
        mark = f"\n[... {self.missing} of {self.total} bytes left out ...]\n"
        return head + mark + self.tail.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The facts of one call.

    Attributes:
        ending: how it ended.
        code: exit code of the last stage when it exited, else None.
        signal: the signal that ended the last stage, else None.
        limit: the limit that killed it, when ``ending`` is ``killed_by_limit``.
        limits_hit: limits reached, also by children of a program that went on.
        stdout, stderr: what is kept of the output.
        codes: one per stage: exit code, or minus the signal number.
        start_error: why a program could not be started (then code is 127 or 126), else "".
        wall_seconds, cpu_seconds: measured; CPU of all processes that were reaped.
        peak_memory_bytes: largest resident size of any one process, None where not measured.
    """

    ending: Ending
    code: int | None = None
    signal: int | None = None
    limit: str | None = None
    limits_hit: tuple[LimitHit, ...] = ()
    stdout: Capture = Capture()
    stderr: Capture = Capture()
    codes: tuple[int, ...] = ()
    start_error: str = ""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory_bytes: int | None = None

    @property
    def ok(self) -> bool:
        """Whether the program exited with 0."""
        return self.ending is Ending.EXITED and self.code == 0


@dataclass(frozen=True, slots=True)
class Program:
    """A program's identity in the box: the real path that is executed."""

    name: str
    path: str  # links followed
    found: str  # as found on the search path, links not followed


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a file operation did not happen. ``code`` is stable; ``path`` is as it was given.

    Codes: not-found, not-a-file, not-a-folder, exists, path-escape, too-large, busy, denied,
    no-space, loop, name, changed, link, other.
    """

    code: str
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class FileData:
    """Bytes of a regular file: ``data`` starts at ``offset``; ``size`` is the whole file's."""

    path: str
    data: bytes
    offset: int
    size: int
    mode: int


@dataclass(frozen=True, slots=True)
class Written:
    """A file was written whole, by a new file and a rename."""

    path: str
    size: int
    created: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """One name of a folder. ``kind``: file, dir, link, fifo, socket, device."""

    name: str
    kind: str
    size: int
    mode: int


@dataclass(frozen=True, slots=True)
class Listing:
    """Names of a folder in byte order; ``total`` counts those left out too."""

    path: str
    entries: tuple[Entry, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Found:
    """Paths below a folder that match a glob; ``complete`` is False when a bound was reached."""

    paths: tuple[str, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Match:
    """A line that matches a search: ``line`` counts from 1, ``text`` is cut at 500 characters."""

    path: str
    line: int
    text: str
