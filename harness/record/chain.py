"""The bytes of a record (decision 26).

A line is the compact ASCII JSON of an object whose last key is ``hash``: the SHA-256, in lower-case
hex, of the previous record's hash as hex text followed by the bytes of the same object without
that key. The first record follows 64 zeros. The newline is not counted.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

__all__ = [
    "FIRST_PREVIOUS",
    "HASH_TAIL_LENGTH",
    "SCHEMA",
    "TYPES",
    "chain_hash",
    "encode_body",
    "seal_path",
    "seal_text",
]

SCHEMA = 1
FIRST_PREVIOUS = "0" * 64

TYPES = frozenset(
    {
        "run/start",
        "step/start",
        "model/request",
        "model/attempt",
        "model/reply",
        "tool/call",
        "tool/verdict",
        "approval/asked",
        "approval/decided",
        "tool/result",
        "step/end",
        "verify/start",
        "verify/end",
        "run/resumed",
        "notice",
        "run/end",
    }
)
"""Every type that a log of this schema may hold; another type needs another schema number."""

HASH_TAIL_LENGTH = len(',"hash":""}') + 64


def _plain(value: object) -> object:
    """Frozen containers are written like those that they were made of."""
    if isinstance(value, MappingProxyType):
        return dict(value)
    if isinstance(value, frozenset | set):
        return sorted(value)
    raise TypeError(f"a record cannot hold a {type(value).__name__}")


_encode = json.JSONEncoder(
    separators=(",", ":"), ensure_ascii=True, allow_nan=False, check_circular=False, default=_plain
).encode


def _kept_encoder() -> Callable[[Any, int], Sequence[str]] | None:
    """The standard library's own encoder, made once: a JSONEncoder makes one for each text."""
    make = getattr(json.encoder, "c_make_encoder", None)
    quote = getattr(json.encoder, "encode_basestring_ascii", None)
    if make is None or quote is None:
        return None
    kept: Callable[[Any, int], Sequence[str]]
    kept = make(None, _plain, quote, None, ":", ",", False, False, False)
    probe = {"a": [1, 2.5, None, True, "\u00e9"], "b": MappingProxyType({"c": ()})}
    return kept if "".join(kept(probe, 0)) == _encode(probe) else None


_kept = _kept_encoder()


def encode_body(record: Mapping[str, Any] | Sequence[Any]) -> str:
    """The text of a record without its hash; ValueError or TypeError when JSON cannot hold it."""
    return _encode(record) if _kept is None else "".join(_kept(record, 0))


_blank = sha256()
"""Copying it is quicker than looking the algorithm up again for each record."""


def chain_hash(previous: str, body: str | bytes) -> str:
    """The hash of a record, from the hash before it and its own text without the hash."""
    hasher = _blank.copy()
    if isinstance(body, bytes):
        hasher.update(previous.encode("ascii"))
        hasher.update(body)
    else:
        hasher.update(f"{previous}{body}".encode("ascii"))
    return hasher.hexdigest()


def seal_path(log: Path) -> Path:
    """Where the seal of a log lies."""
    return log.with_suffix(".seal")


def seal_text(key: bytes, records: int, head: str) -> str:
    """What only the holder of the key can write: a MAC over the length and the head of a log."""
    return hmac.new(key, f"{records}:{head}".encode("ascii"), sha256).hexdigest()
