"""What a report shows, as plain data: the records of a log folded into steps and calls.

Nothing is interpreted here and nothing is trusted: a log may hold whatever a program printed, and
may end in the middle. Long texts are cut, and say how much is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["MAX_TEXT", "View", "view_of"]

Record: TypeAlias = Mapping[str, Any]

MAX_TEXT = 64 << 10
"""Characters of one text that a report carries; the log has the rest."""

MAX_PATCH = 2 << 20


@dataclass
class View:
    """Everything that the page shows; all values are JSON.

    Attributes:
        run: id, task, agent, model, instruction, policy and budgets, as the run began.
        result: status, verdict, spent and exit code; {} while there is none.
        steps: number, begin and duration in seconds, text, usage, attempts, calls.
        notes: remarks of the harness, with the second at which they were made.
        verify: what verification found, or {}.
        patch: the patch as text.
        artifacts: name and size of each.
        fault: why the log could not be read to its end, or "".
        counts: calls by decision and by success, for the filters; a program that came to a bad
            end counts as failed, a call that was denied does not.
    """

    run: dict[str, Any] = field(default_factory=dict)
    result: dict[str, Any] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    verify: dict[str, Any] = field(default_factory=dict)
    patch: dict[str, Any] = field(default_factory=dict)
    artifacts: list[dict[str, Any]] = field(default_factory=list)
    fault: str = ""
    counts: dict[str, int] = field(default_factory=dict)


def view_of(
    records: Iterable[Record],
    *,
    result: Mapping[str, Any] | None = None,
    patch: bytes = b"",
    artifacts: Iterable[tuple[str, int, str | None]] = (),
    fault: str = "",
) -> View:
    """The view of a run.

    Args:
        records: of its log, in order.
        result: what `result.json` holds, if there is one.
        patch: what `patch.diff` holds.
        artifacts: name, size and, of short ones, the text of each file of `artifacts/`.
        fault: what ended the reading of the log early.
    """
    view = View(fault=fault, result=dict(result or {}))
    fold = _Fold(view)
    for record in records:
        fold.take(record)
    view.patch = _cut(patch.decode("utf-8", "replace"), MAX_PATCH)
    view.artifacts = [
        {"name": name, "size": size, **({} if text is None else _cut(text))}
        for name, size, text in artifacts
    ]
    view.counts = _counts(view.steps)
    return view


class _Fold:
    """Takes one record after another; unknown types are counted, not lost silently."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._start: float | None = None
        self._now = 0.0
        self._step: dict[str, Any] | None = None
        self._calls: dict[str, dict[str, Any]] = {}
        # What a log calls a type names no method of ours.
        self._handlers: dict[str, Callable[[Record, float], None]] = {
            "run/start": self._run_start,
            "run/resumed": self._run_resumed,
            "step/start": self._step_start,
            "model/request": self._model_request,
            "model/attempt": self._model_attempt,
            "model/reply": self._model_reply,
            "tool/call": self._tool_call,
            "tool/verdict": self._tool_verdict,
            "approval/asked": self._approval_asked,
            "approval/decided": self._approval_decided,
            "tool/result": self._tool_result,
            "step/end": self._step_end,
            "verify/start": self._verify_start,
            "verify/end": self._verify_end,
            "notice": self._notice,
            "run/end": self._run_end,
        }

    def take(self, record: Record) -> None:
        kind = str(record.get("type", ""))
        at = self._second(record)
        handler = self._handlers.get(kind)
        if handler is None:
            self._view.notes.append({"at": at, "kind": "unknown record", **_cut(kind)})
            return
        handler(record, at)

    def _second(self, record: Record) -> float:
        t = record.get("t")
        if isinstance(t, int | float):
            if self._start is None or t - self._start < self._now:
                self._start = t - self._now  # a run that was taken up after the clock began anew
            self._now = t - self._start
        return round(self._now, 6)

    def _run_start(self, record: Record, at: float) -> None:
        del at
        skip = {"seq", "t", "hash", "type", "step", "call"}
        self._view.run = {k: _any(v) for k, v in record.items() if k not in skip}

    def _run_resumed(self, record: Record, at: float) -> None:
        self._note(at, "resumed", "the run goes on after an interruption")
        del record

    def _step_start(self, record: Record, at: float) -> None:
        self._step = {"number": record.get("step"), "at": at, "calls": [], "attempts": []}
        self._view.steps.append(self._step)

    def _model_request(self, record: Record, at: float) -> None:
        if self._step is not None:
            self._step["asked"] = at
            self._step["messages"] = record.get("messages")
            added = record.get("added") or ()
            self._step["added"] = [
                {"role": str(one.get("role", "")), **_cut(_text_of(one))}
                for one in added
                if isinstance(one, Mapping)
            ]

    def _model_attempt(self, record: Record, at: float) -> None:
        del at
        keys = ("number", "model", "ok", "error", "status", "wait_seconds")
        self._of_step()["attempts"].append({k: _any(record.get(k)) for k in keys})

    def _model_reply(self, record: Record, at: float) -> None:
        step = self._of_step()
        step["replied"] = at
        step["text"] = _cut(str(record.get("text", "")))
        step["model_seconds"] = record.get("duration_seconds")
        for key in ("usage", "model", "repairs", "cut"):
            if record.get(key):
                step[key] = _any(record[key])

    def _tool_call(self, record: Record, at: float) -> None:
        call = {
            "id": record.get("call"),
            "at": at,
            "name": str(record.get("name", "")),
            "arguments": _cut(str(record.get("arguments", ""))),
            "origin": record.get("origin", "model"),
        }
        self._calls[str(record.get("call"))] = call
        self._of_step()["calls"].append(call)

    def _tool_verdict(self, record: Record, at: float) -> None:
        del at
        keys = (
            "decision", "reason", "message", "rule", "line", "word", "stage", "runs_code",
            "isolation", "action",
        )  # fmt: skip
        self._of_call(record)["verdict"] = {
            k: _any(record[k]) for k in keys if record.get(k) is not None
        }

    def _approval_asked(self, record: Record, at: float) -> None:
        self._of_call(record)["asked"] = {"at": at, **_cut(str(record.get("summary", "")))}

    def _approval_decided(self, record: Record, at: float) -> None:
        keys = ("answer", "by", "reason")
        self._of_call(record)["answer"] = {"at": at, **{k: _any(record.get(k)) for k in keys}}

    def _tool_result(self, record: Record, at: float) -> None:
        call = self._of_call(record)
        call["ok"] = record.get("ok") is True
        call["ended"] = at
        call["seconds"] = record.get("duration_seconds")
        call["content"] = _cut(str(record.get("content", "")))
        for key in ("error", "outcome", "artifact", "contexts"):
            if record.get(key):
                call[key] = _any(record[key])
        denied = (call.get("verdict") or {}).get("decision") == "deny"
        call["failed"] = not denied and (not call["ok"] or _ended_badly(record.get("outcome")))

    def _step_end(self, record: Record, at: float) -> None:
        step = self._of_step()
        step["ended"] = at
        step["seconds"] = record.get("duration_seconds")
        if record.get("status"):
            step["status"] = str(record["status"])
        self._step = None

    def _verify_start(self, record: Record, at: float) -> None:
        self._view.verify = {"at": at, "argv": _any(record.get("argv") or [])}
        self._step = None

    def _verify_end(self, record: Record, at: float) -> None:
        skip = {"seq", "t", "at", "hash", "type", "run", "step", "call"}
        found = {k: _any(v) for k, v in record.items() if k not in skip}
        self._view.verify.update(found, ended=at)

    def _notice(self, record: Record, at: float) -> None:
        self._note(at, str(record.get("kind", "note")), str(record.get("text", "")))

    def _run_end(self, record: Record, at: float) -> None:
        self._view.run["seconds"] = at
        self._view.run["end"] = str(record.get("status", ""))

    def _note(self, at: float, kind: str, text: str) -> None:
        self._view.notes.append({"at": at, "kind": kind, **_cut(text)})

    def _of_step(self) -> dict[str, Any]:
        """The step at hand; work outside of any (oracle, verification) has one without number."""
        if self._step is None:
            last = self._view.steps[-1] if self._view.steps else None
            if last is None or last.get("number") is not None:
                last = {"number": None, "at": 0.0, "calls": [], "attempts": []}
                self._view.steps.append(last)
            return last
        return self._step

    def _of_call(self, record: Record) -> dict[str, Any]:
        key = str(record.get("call"))
        if key not in self._calls:
            self._tool_call({**record, "arguments": ""}, self._second(record))
        return self._calls[key]


def _ended_badly(outcome: object) -> bool:
    """Whether the last program of a call came to a bad end; the tool itself may have worked."""
    outcomes = outcome.get("outcomes") if isinstance(outcome, Mapping) else None
    last = outcomes[-1] if isinstance(outcomes, list) and outcomes else None
    if not isinstance(last, Mapping):
        return False
    return last.get("ending") != "exited" or last.get("code") not in (0, None)


def _text_of(message: Mapping[str, Any]) -> str:
    text = message.get("text", message.get("content", ""))
    return text if isinstance(text, str) else str(text)


def _cut(text: str, most: int = MAX_TEXT) -> dict[str, Any]:
    """A text with what is left out of it; lone surrogates become visible escapes."""
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if len(text) <= most:
        return {"text": text}
    half = most // 2
    return {"text": text[:half], "tail": text[-half:], "missing": len(text) - 2 * half}


def _any(value: object, depth: int = 6) -> Any:  # noqa: ANN401 - any JSON
    """A value of the log with its texts cut and its depth bounded."""
    if isinstance(value, str):
        cut = _cut(value, 4096)
        if "missing" not in cut:
            return cut["text"]
        return f"{cut['text']} … {cut['missing']} characters left out … {cut['tail']}"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no such number, though one too large for a float becomes it
    if depth == 0:
        return "…"
    if isinstance(value, Mapping):
        return {_cut(str(k))["text"]: _any(v, depth - 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_any(item, depth - 1) for item in value[:500]]
    return value


def _counts(steps: list[dict[str, Any]]) -> dict[str, int]:
    calls = [call for step in steps for call in step["calls"]]
    decisions = [call.get("verdict", {}).get("decision") for call in calls]
    return {
        "steps": sum(step["number"] is not None for step in steps),
        "calls": len(calls),
        "failed": sum(call.get("failed") is True for call in calls),
        "denied": decisions.count("deny"),
        "asked": decisions.count("ask"),
    }
