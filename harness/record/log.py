"""The log that is written while a run goes on."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from harness.errors import LogError
from harness.record.chain import (
    FIRST_PREVIOUS,
    SCHEMA,
    TYPES,
    chain_hash,
    encode_body,
    seal_path,
    seal_text,
)
from harness.record.hold import take_hold
from harness.record.parts import closed_part, parts
from harness.record.verification import scan

__all__ = ["EventLog", "Fsync", "Redactor"]

Fsync = Literal["none", "end", "step", "event"]
"""When the disk is waited for: never, at the end of the run, of each step, or for each record.

Records that are written in one go are waited for together.
"""

Redactor = Callable[[dict[str, Any]], dict[str, Any]]
"""Takes the fields of a record and returns what may be written of them."""

_NEW = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC

_OWN = frozenset({"seq", "type", "run", "at", "t", "hash"})
"""Keys that every record has, and that the log alone writes."""

_SYNCED = {
    "none": frozenset[str](),
    "end": frozenset({"run/end"}),
    "step": frozenset({"run/start", "step/end", "approval/decided", "run/end"}),
    "event": TYPES,
}


_GUARDED = frozenset(
    {"run/start", "run/resumed", "step/start", "tool/verdict", "verify/start", "run/end"}
)
"""Records after which something is done: their file must be there for others to read."""

GUARD_NANOSECONDS = 2_000_000
"""For so long a look at the file is good: steps that take less would spend a tenth on looking."""


class EventLog:
    """An append-only, hash-chained log of one run.

    Promises:
     1. A record is in the file, whole, when the call that writes it returns; else LogError, and
        nothing of that call is there. The log then takes no more: who goes on after that goes on
        unlogged, so nobody should. The same where the file was removed: that is noticed before
        the next step or call that begins two milliseconds later. Nobody else writes it.
     2. Numbers begin at 0 and have no gap; each record is chained to the one before it.
     3. A log that is rotated goes on in a new file with the same chain; its closed parts lie
        beside it, and are read and verified with it.
     4. Redaction happens here and nowhere else; a redactor that raises withholds the record.

    Attributes:
        plain: nothing is redacted; records may come as text.
    """

    def __init__(  # noqa: PLR0913 - made by `create` and `reopen`
        self,
        path: Path,
        descriptor: int,
        run: str,
        *,
        count: int = 0,
        head: str = FIRST_PREVIOUS,
        size: int = 0,
        fsync: Fsync = "none",
        key: bytes | None = None,
        redact: Redactor | None = None,
        rotate_bytes: int | None = None,
    ) -> None:
        self.path = path
        self.run = run
        self._run_text = json.dumps(run)
        self._descriptor = descriptor
        self._count = count
        self._head = head
        self._size = size
        self._synced = _SYNCED[fsync]
        self._sync_close = fsync != "none"
        self._on_disk = False
        self._key = key
        self._redact = redact
        self.plain = redact is None
        self._rotate_bytes = rotate_bytes
        self._broken: str | None = None
        self._second = -1
        self._stamp = ""
        self._guarded = 0

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        run: str,
        fsync: Fsync = "none",
        key: bytes | None = None,
        redact: Redactor | None = None,
        rotate_bytes: int | None = None,
    ) -> EventLog:
        """A new log; LogError when the file exists or cannot be made.

        Args:
            path: its file.
            run: the id of the run that it belongs to.
            fsync: when the disk is waited for.
            key: seals the log when it is closed.
            redact: says what may be written of a record.
            rotate_bytes: begin a new file when one has so many bytes.
        """
        target = Path(path)
        if parts(target):
            raise LogError(f"{target}: the log cannot be made: there is one already")
        try:
            descriptor = _open(target)
            if fsync != "none":
                _sync_folder(target)
        except OSError as error:
            raise LogError(f"{target}: the log cannot be made: {error.strerror}") from error
        return cls(
            target,
            descriptor,
            run,
            fsync=fsync,
            key=key,
            redact=redact,
            rotate_bytes=rotate_bytes,
        )

    @classmethod
    def reopen(
        cls,
        path: str | Path,
        *,
        fsync: Fsync = "none",
        key: bytes | None = None,
        redact: Redactor | None = None,
        rotate_bytes: int | None = None,
    ) -> EventLog:
        """Continue a log after a crash; only a torn last record is cut away, and nothing else."""
        target = Path(path)
        found = scan(target)
        if found.problem is not None and not found.torn:
            raise LogError(f"{target}: cannot be continued: {found.problem}")
        if not found.records:
            raise LogError(f"{target}: nothing was recorded")
        try:
            descriptor = _open(target, anew=False)
            os.ftruncate(descriptor, found.size if target == found.part else 0)
        except BlockingIOError:
            raise LogError(f"{target}: cannot be continued: another process writes it") from None
        except OSError as error:
            raise LogError(f"{target}: cannot be continued: {error.strerror}") from error
        return cls(
            target,
            descriptor,
            found.run,
            count=found.records,
            head=found.head,
            size=found.size if target == found.part else 0,
            fsync=fsync,
            key=key,
            redact=redact,
            rotate_bytes=rotate_bytes,
        )

    @property
    def head(self) -> str:
        """The hash of the last record: who knows it can tell that nothing was changed."""
        return self._head

    @property
    def count(self) -> int:
        """How many records there are."""
        return self._count

    def append(self, type: str, /, **fields: object) -> int:  # noqa: A002 - the record's own word
        """Write one record and return its number."""
        return self.write(type, fields)

    def write(self, type: str, fields: dict[str, Any]) -> int:  # noqa: A002
        """Write one record; ``fields`` may not hold a key that the log writes itself."""
        return self.write_texts(((type, self.text_of(type, fields)),))

    def text_of(self, type: str, fields: dict[str, Any]) -> str:  # noqa: A002
        """What may be written of a record's fields, as JSON without the braces."""
        if type not in TYPES:
            raise LogError(f"{type!r} is no record type of schema {SCHEMA}")
        if self._redact is not None:
            fields = self._redacted(fields)
        if not _OWN.isdisjoint(fields):
            raise LogError(f"a {type} record repeats a key that the log itself writes")
        try:
            return encode_body(fields)[1:-1]
        except (TypeError, ValueError) as error:
            raise LogError(f"a {type} record cannot be written as JSON: {error}") from error

    def write_texts(self, records: Sequence[tuple[str, str]]) -> int:
        """Write records in one go, each as its type and its text; the number of the last.

        A text is what ``text_of`` gave; where the log is ``plain``, also that of somebody who
        knows the log's own keys: no redactor would see it.
        """
        if self._broken is not None:
            raise LogError(f"{self.path}: {self._broken}")
        now = time.monotonic_ns()
        number, head, moment = self._count, self._head, self._moment(now)
        lines: list[str] = []
        guarded = synced = False
        for kind, text in records:
            first = "" if number else f',"schema":{SCHEMA}'
            comma = "," if text else ""
            line = f'{{"seq":{number},"type":"{kind}",{moment}{first}{comma}{text}'
            head = chain_hash(head, line + "}")
            lines.append(f'{line},"hash":"{head}"}}\n')
            guarded = guarded or kind in _GUARDED
            synced = synced or kind in self._synced
            number += 1
        if guarded and now - self._guarded > GUARD_NANOSECONDS:
            self._guard()
            self._guarded = now
        self._put("".join(lines).encode("ascii"), synced=synced)
        self._count, self._head = number, head
        if self._rotate_bytes is not None and self._size >= self._rotate_bytes:
            self._rotate()
        return number - 1

    def _moment(self, now: int) -> str:
        """The members that all records have, of those that are written now."""
        second, micro = divmod(time.time_ns() // 1000, 1_000_000)
        if second != self._second:  # RFC 3339 in UTC; the part up to the second changes rarely
            self._second = second
            self._stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        t = now // 1000 / 1_000_000
        return f'"run":{self._run_text},"at":"{self._stamp}.{micro:06d}Z","t":{t!r}'

    def _put(self, data: bytes, *, synced: bool) -> None:
        """Put whole lines into the file, or nothing."""
        self._on_disk = False
        try:
            written = os.write(self._descriptor, data)
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
            self._size += written
            if synced:
                _sync(self._descriptor)
                self._on_disk = True
        except OSError as error:
            self._broken = f"a record could not be written: {error.strerror}"
            self._drop_fragment()
            raise LogError(f"{self.path}: {self._broken}") from error

    def clean(self, fields: dict[str, Any]) -> dict[str, Any]:
        """What may be kept beside the log of these fields: without what is never recorded."""
        return fields if self._redact is None else self._redact(dict(fields))

    def close(self) -> None:
        """Close the file, and seal it where there is a key; safe to repeat."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        already, self._broken = self._broken, self._broken or "the log is closed"
        try:
            if self._sync_close and not self._on_disk:
                _sync(descriptor)
            if self._key is not None and already is None:
                text = seal_text(self._key, self._count, self._head)
                seal_path(self.path).write_text(text + "\n", "ascii")
        except OSError as error:
            raise LogError(f"{self.path}: cannot be closed: {error.strerror}") from error
        finally:
            os.close(descriptor)

    def __enter__(self) -> EventLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _guard(self) -> None:
        """Notice that the file is no longer in its folder, where nobody would ever read it."""
        if not os.fstat(self._descriptor).st_nlink:
            self._broken = "a record could not be written: the file was removed"
            raise LogError(f"{self.path}: {self._broken}")

    def _rotate(self) -> None:
        """Close this file under its number and go on in a new one."""
        try:
            if self._sync_close:
                _sync(self._descriptor)
            number = len(parts(self.path))
            self.path.rename(closed_part(self.path, number))
            descriptor = _open(self.path)
            if self._sync_close:
                _sync_folder(self.path)
        except OSError as error:
            self._broken = f"the log could not be rotated: {error.strerror}"
            raise LogError(f"{self.path}: {self._broken}") from error
        os.close(self._descriptor)
        self._descriptor, self._size = descriptor, 0

    def _drop_fragment(self) -> None:
        """Cut what a failed write left, so that the log ends with a whole record."""
        try:
            os.ftruncate(self._descriptor, self._size)
        except OSError:
            self._broken = f"{self._broken}; the last record is torn"

    def _redacted(self, fields: dict[str, Any]) -> dict[str, Any]:
        assert self._redact is not None
        try:
            return self._redact(dict(fields))
        except Exception as error:  # whatever it is, the record must not get out
            return {"withheld": f"the redactor raised {type(error).__name__}"}


def _open(path: Path, *, anew: bool = True) -> int:
    """A descriptor that holds the log against other writers until it, or its process, is gone."""
    descriptor = os.open(path, _NEW if anew else _NEW & ~os.O_EXCL, 0o600)
    try:
        take_hold(descriptor)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _sync(descriptor: int) -> None:
    """Wait for the bytes and the length of a file, not for the time of its last change."""
    getattr(os, "fdatasync", os.fsync)(descriptor)  # not every system has the first


def _sync_folder(path: Path) -> None:
    """Wait until the disk knows the file by its name."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
