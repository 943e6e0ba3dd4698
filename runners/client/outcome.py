"""Making an Outcome of what a box says, every fact checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from policies import Limits
from runners.client.keeper import Keeper
from runners.client.wire import NUMBER_MAX, Head
from runners.errors import ProtocolError
from runners.outcome import Ending, Fault, LimitHit, Outcome

__all__ = ["fault_of", "outcome_of", "value_of"]

Evidence = Literal["counter", "signal", "poller"]
Choice = TypeVar("Choice", bound=str)

LIMITS = {field.name: field.name for field in dataclasses.fields(Limits)}
EVIDENCE: dict[str, Evidence] = {"counter": "counter", "signal": "signal", "poller": "poller"}
ENDINGS = {ending.value: ending for ending in Ending}
TEXT_MAX = 4096
CODES = (
    "not-found", "not-a-file", "not-a-folder", "exists", "path-escape", "too-large", "busy",
    "denied", "no-space", "loop", "name", "changed", "link", "other",
)  # fmt: skip


def outcome_of(done: Head, stages: int, kept: tuple[Keeper, Keeper]) -> Outcome:
    """The outcome of a pipeline of so many stages."""
    ending = _one_of(done, "ending", ENDINGS)
    codes = done.get("codes")
    if not isinstance(codes, list) or len(codes) != stages:
        raise ProtocolError("a call has another number of codes than of stages")
    for code in codes:
        if type(code) is not int or not -128 < code < 256:
            raise ProtocolError("a call has a code that no program can have")
    limit = None if done.get("limit") is None else _one_of(done, "limit", LIMITS)
    last = codes[-1]
    totals = _totals(done)
    exited = ending is Ending.EXITED
    return Outcome(
        ending=ending,
        code=max(last, 0) if exited else None,
        signal=-last if not exited and last < 0 else None,
        limit=limit if ending is Ending.KILLED_BY_LIMIT else None,
        limits_hit=_hits(done),
        stdout=kept[0].capture(totals[0]),
        stderr=kept[1].capture(totals[1]),
        codes=tuple(codes),
        start_error=_text(done, "error"),
        wall_seconds=_amount(done, "wall"),
        cpu_seconds=_amount(done, "cpu"),
        peak_memory_bytes=None if done.get("rss") is None else int(_amount(done, "rss")),
    )


def fault_of(done: Head, path: str) -> Fault | None:
    """The fault that an operation ended with, if it did."""
    fault = done.get("fault")
    if fault is None:
        return None
    if not (isinstance(fault, list) and len(fault) == 3 and all(type(x) is str for x in fault)):
        raise ProtocolError("an operation ended with a malformed fault")
    code, where, message = fault
    if code not in CODES:
        raise ProtocolError(f"no fault is called {code!r:.40}")
    return Fault(code, path or where, message[:TEXT_MAX])


def value_of(done: Head, **kinds: type) -> dict[str, Any]:
    """The answer of an operation, with the keys and types that it must have."""
    value = done.get("value")
    if not isinstance(value, dict):
        raise ProtocolError("an operation ended without an answer")
    for key, kind in kinds.items():
        found = value.get(key)
        if type(found) is not kind or found is None:
            raise ProtocolError(f"an operation answered without {key}")
        if isinstance(found, int) and not 0 <= found < NUMBER_MAX:
            raise ProtocolError(f"an operation answered without {key}")
    return value


def _hits(done: Head) -> tuple[LimitHit, ...]:
    found: list[LimitHit] = []
    hits = done.get("hits")
    if not isinstance(hits, list) or len(hits) > 64:
        raise ProtocolError("a call has no list of limits")
    for hit in hits:
        if not isinstance(hit, list) or len(hit) != 2:
            raise ProtocolError("a call hit a malformed limit")
        named = {"limit": hit[0], "evidence": hit[1]}
        limit = LimitHit(_one_of(named, "limit", LIMITS), _one_of(named, "evidence", EVIDENCE))
        if limit not in found:
            found.append(limit)
    return tuple(found)


def _totals(done: Head) -> list[int]:
    totals = done.get("totals")
    if not isinstance(totals, list) or len(totals) > 2:
        raise ProtocolError("a call does not count its output")
    for total in totals:
        if type(total) is not int or not 0 <= total < NUMBER_MAX:
            raise ProtocolError("a call counts its output wrongly")
    return [*totals, 0, 0][:2]


def _amount(done: Head, key: str) -> float:
    value = done.get(key)
    if type(value) is not float and type(value) is not int:
        raise ProtocolError(f"a call has no {key}")
    if not 0 <= value < NUMBER_MAX:
        raise ProtocolError(f"a call has a {key} out of range")
    return value


def _text(done: Head, key: str) -> str:
    value = done.get(key)
    if not isinstance(value, str):
        raise ProtocolError(f"a call has no {key}")
    return value[:TEXT_MAX]


def _one_of(done: Head, key: str, choices: Mapping[str, Choice]) -> Choice:
    value = done.get(key)
    found = choices.get(value) if isinstance(value, str) else None
    if found is None:
        raise ProtocolError(f"a call has no {key} that is known")
    return found
