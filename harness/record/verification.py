"""Whether a log is whole: every byte of every record, their order, and their end."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal

from harness.record.chain import (
    FIRST_PREVIOUS,
    HASH_TAIL_LENGTH,
    SCHEMA,
    TYPES,
    chain_hash,
    encode_body,
    seal_path,
    seal_text,
)
from harness.record.form import form_fault
from harness.record.parts import parts

__all__ = ["Verification", "scan", "verify"]


_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Verification:
    """What a look at a log found.

    Attributes:
        code: 0 fine, 1 damaged, incomplete or cut, 2 no such log.
        problem: one sentence, or None when all is well.
        record: the number of the first bad record, where one can be named.
        records: how many whole records there are up to the problem.
        head: the hash of the last good one.
        ended: the last record says that the run ended.
        anchored: what proved that the log was not edited and chained anew.
        run: the run's id.
        size: bytes up to the problem, in the file where it is.
        torn: the problem is a fragment at the end, as a crash leaves it.
        part: the file of the log that was looked at last.
        end: the record of the end of the run, {} where there is none.
    """

    code: Literal[0, 1, 2] = 0
    problem: str | None = None
    record: int | None = None
    records: int = 0
    head: str = FIRST_PREVIOUS
    ended: bool = False
    anchored: Literal["head", "key"] | None = None
    run: str = ""
    size: int = 0
    torn: bool = False
    part: Path | None = None
    end: Mapping[str, Any] = field(default_factory=dict)


def verify(path: str | Path, head: str | None = None, key: bytes | None = None) -> Verification:
    """Check a log; ``head`` or ``key`` anchor it, without them an edit that re-chains is unseen."""
    target = Path(path)
    found = scan(target)
    if found.code:
        return found
    if not found.ended:
        return replace(found, code=1, problem="the log is cut: it has no run/end at its end")
    if head is not None:
        found = _with_head(found, head)
    if key is not None and not found.code:
        found = _with_key(found, target, key)
    return found


def scan(path: Path) -> Verification:
    """Check the chain alone: an end record is not asked for."""
    files = parts(path)
    if not files:
        return Verification(2, f"{path}: no such log")
    state = _Chain()
    for file in files:
        state.size = 0
        try:
            stream = file.open("rb")
        except OSError as error:
            return Verification(2, f"{file}: cannot be read: {error.strerror}")
        with stream:
            found = _scan(stream, state, last=file == files[-1])
        if found is not None:
            return replace(found, part=file)
    if not state.count:
        return Verification(1, "the log is empty", part=files[-1])
    return replace(state.found(), part=files[-1])


def _scan(stream: BinaryIO, state: _Chain, *, last: bool) -> Verification | None:
    """The first problem of a file, or None."""
    for line in stream:
        problem = state.take(line)
        if problem is not None:
            torn = last and not line.endswith(b"\n")
            sentence = f"record {state.count}: {problem}"
            return replace(state.found(), code=1, problem=sentence, record=state.count, torn=torn)
    return None


class _Chain:
    """What is known after the records so far."""

    def __init__(self) -> None:
        self.count = 0
        self.head = FIRST_PREVIOUS
        self.run = ""
        self.size = 0
        self.last: dict[str, Any] = {}

    def found(self) -> Verification:
        end = self.last if self.last.get("type") == "run/end" else {}
        return Verification(
            records=self.count,
            head=self.head,
            run=self.run,
            size=self.size,
            ended=bool(end),
            end=end,
        )

    def take(self, line: bytes) -> str | None:
        """Why this line is not the next record, or None after taking it."""
        if not line.endswith(b"\n"):
            return "the log is cut in the middle of it"
        try:
            text = line.decode("ascii")
            record, end = _decode(text)
        except (ValueError, RecursionError):
            return "it is not JSON"
        if end != len(text) - 1:
            return "it is not JSON"
        body = text[: -HASH_TAIL_LENGTH - 1] + "}"
        digest = chain_hash(self.head, body)
        if text[-HASH_TAIL_LENGTH - 1 :] != f',"hash":"{digest}"}}\n':
            return "its hash does not fit its content and the record before it"
        problem = self._content(record, body)
        if problem is None:
            self.head = digest
            self.count += 1
            self.size += len(line)
        return problem

    def _content(self, record: object, body: str) -> str | None:
        if not isinstance(record, dict):
            return "it is no object"
        record.pop("hash", None)
        try:
            canonical = encode_body(record)
        except ValueError:
            return "it is not written in the one form of a record"
        if canonical != body:
            return "it is not written in the one form of a record"
        if record.get("seq") != self.count or record.get("seq") is True:
            return f"its number is {record.get('seq')!r}"
        return self._meaning(record)

    def _meaning(self, record: dict[str, Any]) -> str | None:
        kind, run = record.get("type"), record.get("run")
        if not isinstance(kind, str) or kind not in TYPES:
            return f"its type {kind!r} is unknown to schema {SCHEMA}"
        if not self.count:
            if record.get("schema") != SCHEMA:
                return f"its schema is {record.get('schema')!r}, not {SCHEMA}"
            if kind != "run/start":
                return f"the log begins with {kind}, not with run/start"
            self.run = str(run)
        elif run != self.run:
            return f"it belongs to another run: {run!r}"
        elif self.last.get("type") == "run/end" and kind not in ("run/start", "run/resumed"):
            return f"a {kind} follows the end of the run"
        fault = form_fault(record)
        if fault is not None:
            return f"it is not of this schema: {fault}"
        self.last = record
        return None


def _with_head(found: Verification, head: str) -> Verification:
    if hmac.compare_digest(found.head, head.strip().lower()):
        return replace(found, anchored="head")
    return replace(
        found,
        code=1,
        problem=f"the head is {found.head}: the log was cut, or edited and chained anew",
    )


def _with_key(found: Verification, path: Path, key: bytes) -> Verification:
    try:
        seal = seal_path(path).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return replace(found, code=1, problem=f"there is no seal {seal_path(path).name} to check")
    if hmac.compare_digest(seal, seal_text(key, found.records, found.head)):
        return replace(found, anchored="key")
    return replace(
        found, code=1, problem="the seal does not fit: another key, or the log was changed"
    )
