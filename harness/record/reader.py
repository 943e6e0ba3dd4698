"""Reading a log back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import LogError
from harness.record.parts import parts

__all__ = ["read_events"]

_decoder = json.JSONDecoder()


def read_events(path: str | Path) -> Iterator[dict[str, Any]]:
    """The records of a log in order, up to a torn last one.

    This trusts the file; :func:`harness.record.verify` says whether it deserves it.
    """
    number = 0
    for source in parts(Path(path)) or [Path(path)]:
        try:
            stream = source.open("rb")
        except OSError as error:
            raise LogError(f"{source}: cannot be read: {error.strerror}") from error
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
        raise LogError(f"{source}: record {number} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise LogError(f"{source}: record {number} is no object")
    return record
