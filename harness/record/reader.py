"""Reading a log back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import RecordError
from harness.record.form import form_fault
from harness.record.parts import parts

__all__ = ["read_events"]


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


_decoder = json.JSONDecoder(parse_constant=_constant)


def read_events(path: str | Path) -> Iterator[dict[str, Any]]:
    """The records of a log in order, up to a torn last one.

    Every field of a record that is given has the type of the schema, else RecordError; more is
    not promised: :func:`harness.record.verify` says whether the file deserves to be trusted.
    """
    number = 0
    for source in parts(Path(path)) or [Path(path)]:
        if source.exists() and not source.is_file():
            raise RecordError(f"{source}: cannot be read: it is no regular file")
        try:
            stream = source.open("rb")
        except OSError as error:
            raise RecordError(f"{source}: cannot be read: {error.strerror}") from error
        with stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    return
                yield _record(line, source, number)
                number += 1


def _record(line: bytes, source: Path, number: int) -> dict[str, Any]:
    try:
        text = line.decode("utf-8", "surrogateescape")
        record, end = _decoder.raw_decode(text)
        if text[end:] != "\n":  # `decode` looks for spaces around each text; there hardly are any
            record = _decoder.decode(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{source}: record {number} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise RecordError(f"{source}: record {number} is no object")
    fault = form_fault(record)
    if fault is not None:
        raise RecordError(f"{source}: record {number} is not of this schema: {fault}")
    return record
