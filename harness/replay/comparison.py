"""What happens now beside what was recorded, and the first place where they differ."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from harness.bus import record_fields
from harness.event import Event, Payload, ToolCalled
from harness.record import MARK
from harness.signal import Signal

__all__ = ["Comparison", "Divergence", "essence"]

_COMPARED: dict[str, tuple[str, ...]] = {
    "step/start": (),
    "model/request": ("messages", "digest", "omitted", "added", "tools"),
    "model/reply": ("text", "calls"),
    "tool/call": ("name", "arguments"),
    "tool/verdict": (
        "name", "decision", "reason", "rule", "line", "word", "stage", "message", "action",
    ),
    "approval/asked": ("name", "summary", "reason", "rule"),
    "approval/decided": ("name", "answer"),
    "tool/result": ("name", "ok", "content", "contexts"),
    "step/end": ("calls", "status"),
}  # fmt: skip
"""What counts of each type. Times, durations and figures are of their own run."""

_VALUES: dict[str, Callable[[Payload], object]] = {
    kind: attrgetter(*keys) if keys else lambda _: () for kind, keys in _COMPARED.items()
}

_WIDTH = 400

_RESULTS = frozenset({"tool/result"})


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference: where, and both sides.

    Attributes:
        step: the number of the step.
        type: the record type that was expected, or came.
        expected: what was recorded, or None where the record had ended.
        got: what happened, or None where nothing did any more.
    """

    step: int
    type: str
    expected: Mapping[str, Any] | None
    got: Mapping[str, Any] | None

    @property
    def programs_alike(self) -> bool:
        """Whether programs ended as recorded, and only what they printed reads otherwise."""
        if self.expected is None or self.got is None or not self.expected.get("programs"):
            return False
        return _keys(self.expected, self.got) == {"content"}

    def text(self) -> str:
        """A sentence and a diff, for people."""
        if self.expected is None:
            head = f"step {self.step}: {self.type} came, but the record has nothing more"
        elif self.got is None:
            head = f"step {self.step}: {self.type} was recorded, but nothing came"
        elif self.expected.get("type") != self.got.get("type"):
            head = (
                f"step {self.step}: {self.expected.get('type')} was recorded, "
                f"{self.got.get('type')} came"
            )
        else:
            keys = [k for k in self.expected if self.expected.get(k) != self.got.get(k)]
            keys += [k for k in self.got if k not in self.expected]
            head = f"step {self.step}: {self.type} differs in {', '.join(keys)}"
            if keys == ["digest"]:
                head = (
                    f"step {self.step - 1}: what is recorded of its answer or its results is not "
                    f"what step {self.step} sent: {self.type} differs in digest"
                )
        sides = (_lines(self.expected), _lines(self.got))
        diff = difflib.unified_diff(*sides, "recorded", "now", lineterm="", n=2)
        return "\n".join([head, *diff])


@dataclass(slots=True)
class Comparison:
    """Hears the events of a replay.

    Attributes:
        recorded: the records that count, in order.
        strict: cancel the replay at the first difference; else go on, and collect results that
            differ (a difference in anything but a result always ends it).
        differences: in order; the first one ends a strict replay.
        texts: results of programs that ended as recorded and printed something else: what they
            print may hold times and addresses, so it is told, and is no difference.
        compared: how many records were found as recorded.
    """

    recorded: list[Mapping[str, Any]]
    signal: Signal
    strict: bool = True
    differences: list[Divergence] = field(default_factory=list)
    texts: list[Divergence] = field(default_factory=list)
    compared: int = 0
    _next: int = 0
    _over: bool = False
    _redacted: bool | None = None

    @classmethod
    def of(
        cls, records: Iterable[Mapping[str, Any]], signal: Signal, *, strict: bool = True
    ) -> Comparison:
        """The comparison with a log."""
        kept: list[Mapping[str, Any]] = []
        for record in records:
            kind = record.get("type")
            if kind == "run/resumed":
                break  # what follows was done twice; up to here the record is straight
            if kind in _COMPARED and record.get("origin", "model") == "model":
                kept.append(record)
        return cls(kept, signal, strict)

    @property
    def complete(self) -> bool:
        """Whether the replay came to the end of the record."""
        return self._next >= len(self.recorded)

    def hear(self, event: Event) -> None:
        """Compare what happens with what comes next in the record."""
        payload = event.payload
        kind = payload.type
        if self._over or kind not in _COMPARED:
            return
        if isinstance(payload, ToolCalled) and payload.origin != "model":
            return
        left = len(self.recorded) - self._next
        if not left:
            # The recorded run ended here, perhaps in the middle: there is nothing to compare.
            self._end("replayed to the end of the record")
            return
        expected = self.recorded[self._next]
        self._next += 1
        if self.strict and _alike(kind, event, expected):
            self.compared += 1
        else:
            self._look_closer(event, expected)
        if left == 1 and not self._over:
            self._end("replayed to the end of the record")

    def _look_closer(self, event: Event, recorded: Mapping[str, Any]) -> None:
        """Both sides as a log has them, with all that counts."""
        record = {"type": event.type, **record_fields(event.payload, event.step, event.call)}
        got = _plain(essence(record, programs=not self.strict))
        expected = essence(recorded, programs=not self.strict)
        if got == expected or self._only_digest(got, expected):
            self.compared += 1
        else:
            self._differs(Divergence(event.step, event.type, expected, got))

    def _differs(self, found: Divergence) -> None:
        assert found.expected is not None
        assert found.got is not None
        results = found.type in _RESULTS and found.expected.get("type") in _RESULTS
        if not self.strict and found.programs_alike:
            self.texts.append(found)
        else:
            self.differences.append(found)
        if self.strict or not results:
            self._end("diverged")

    def _only_digest(self, got: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
        """Whether nothing but the digest of the messages differs, and for a known reason.

        It is that of the real messages: a difference in a result, which was told, or the mark of
        what was not written changes it from there on.
        """
        if _keys(got, expected) != {"digest"}:
            return False
        if self.differences or self.texts:
            return True
        if self._redacted is None:
            self._redacted = any(MARK in json.dumps(record) for record in self.recorded)
        return self._redacted

    def _end(self, reason: str) -> None:
        self._over = True
        self.signal.cancel(reason)

    def close(self) -> None:
        """The replay is over: what is still expected did not come."""
        if not self._over and not self.complete:
            missing = self.recorded[self._next]
            step = int(missing.get("step", 0))
            kind = str(missing["type"])
            self.differences.append(Divergence(step, kind, essence(missing), None))


def _alike(kind: str, event: Event, record: Mapping[str, Any]) -> bool:
    """Whether an event is what a record tells of; False may only mean that it is hard to say."""
    get = record.get
    if get("type") != kind or get("step", 0) != event.step or get("call") != event.call:
        return False
    mine = _VALUES[kind](event.payload)
    theirs = tuple(map(get, _COMPARED[kind]))
    if mine == theirs:
        return True
    return mine == tuple([tuple(one) if type(one) is list else one for one in theirs])


def essence(record: Mapping[str, Any], *, programs: bool = False) -> dict[str, Any]:
    """A record without what is of its own run only; with how its programs ended if so wished."""
    kind = str(record["type"])
    keys = ("step", "call", *_COMPARED.get(kind, ()))
    made = {"type": kind, **{k: record[k] for k in keys if record.get(k) is not None}}
    outcomes = (record.get("outcome") or {}).get("outcomes") if programs else None
    if outcomes:
        made["programs"] = [_ended(one) for one in outcomes]
    return made


def _ended(outcome: Mapping[str, Any]) -> str:
    codes = " ".join(str(code) for code in outcome.get("codes") or (outcome.get("code"),))
    return f"{outcome.get('ending')} {codes}"


def _keys(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    """Where two records differ."""
    return {key for key in {*one, *other} if one.get(key) != other.get(key)}


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """As a log would give it back."""
    made: dict[str, Any] = json.loads(json.dumps(value, default=dict))
    return made


def _lines(record: Mapping[str, Any] | None) -> list[str]:
    if record is None:
        return []
    lines: list[str] = []
    for key, value in record.items():
        lines += _value(key, value)
    return lines


def _value(key: str, value: object) -> list[str]:
    """One line an item for lists, one a line for texts, so that a diff shows what differs."""
    if isinstance(value, list):
        return [f"{key}[{i}]: {json.dumps(item)}"[:_WIDTH] for i, item in enumerate(value)]
    text = value if isinstance(value, str) else json.dumps(value)
    head, *rest = text.split("\n")
    return [f"{key}: {head}"[:_WIDTH], *(f"  {line}"[:_WIDTH] for line in rest)]
