"""The records of a run as lines for people: when, how long, what, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from rich.cells import cell_len
from rich.text import Text

from harness.cli.terminal import visible
from harness.cli.wording import brief, cut, duration, ending, one_line

__all__ = ["Line", "Timeline", "drawn"]

Tone: TypeAlias = Literal["plain", "soft", "good", "warn", "bad", "head"]
STYLES: dict[Tone, str] = {
    "plain": "",
    "soft": "dim",
    "good": "green",
    "warn": "yellow",
    "bad": "red",
    "head": "bold",
}
VERDICTS: dict[str, Tone] = {"passed": "good", "failed": "bad", "broken": "warn"}
NOTICES: dict[str, Tone] = {"error": "bad", "incomplete": "bad", "flagged": "warn"}
QUIET = frozenset({"note", "error"})
"""Kinds of notices whose text says all."""

TAKERS = {
    "run/start": "start",
    "run/resumed": "resumed",
    "model/attempt": "attempt",
    "model/reply": "reply",
    "tool/call": "called",
    "tool/verdict": "judged",
    "approval/asked": "asked",
    "approval/decided": "decided",
    "tool/result": "result",
    "step/end": "status",
    "notice": "notice",
    "verify/start": "verifying",
    "verify/end": "verified",
    "run/end": "end",
}
"""Which method takes a record of a type."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line.

    Attributes:
        at: seconds since the run began.
        what: the thing itself.
        step: the step that it opens.
        seconds: how long it took.
        result: what came of it, in a word or two.
        rule: the rule that decided.
        tone: how the result, or all of it where there is none, should look.
    """

    at: float
    what: str
    step: int | None = None
    seconds: float | None = None
    result: str = ""
    rule: str = ""
    tone: Tone = "plain"


@dataclass(slots=True)
class Timeline:
    """Takes one record after another, gives the lines that it completes."""

    start: float | None = None
    now: float = 0.0
    shown_step: int | None = None
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    budgets: Mapping[str, Any] = field(default_factory=dict)

    def take(self, record: Mapping[str, Any]) -> Iterator[Line]:
        """The lines of one record; most of them come with the end of a thing."""
        t = record.get("t")
        if isinstance(t, int | float):
            if self.start is None or t - self.start < self.now:
                self.start = t - self.now  # a run that was taken up after the clock began anew
            self.now = t - self.start
        taker = getattr(self, "_" + TAKERS.get(str(record.get("type")), "nothing"))
        yield from taker(record)

    def _nothing(self, record: Mapping[str, Any]) -> Iterator[Line]:
        del record
        yield from ()

    def _resumed(self, record: Mapping[str, Any]) -> Iterator[Line]:
        del record
        yield Line(self.now, "taken up again after an interruption", tone="warn")

    def _called(self, record: Mapping[str, Any]) -> Iterator[Line]:
        self._call(record).update(called=self.now)
        yield from ()

    def _judged(self, record: Mapping[str, Any]) -> Iterator[Line]:
        self._call(record).update(verdict=record)
        yield from ()

    def _asked(self, record: Mapping[str, Any]) -> Iterator[Line]:
        yield self._line(record, what=f"asked: {record.get('summary', '')}", tone="warn")

    def _verifying(self, record: Mapping[str, Any]) -> Iterator[Line]:
        del record
        yield Line(self.now, "verifying in a fresh session", tone="head")

    def _start(self, record: Mapping[str, Any]) -> Iterator[Line]:
        yield Line(self.now, f"{record.get('run')}  {record.get('task', '')}", tone="head")
        self.budgets = record.get("budgets") or {}
        policy = record.get("policy")
        name = policy.get("name") if isinstance(policy, Mapping) else policy
        parts = [
            f"policy {name}" if name else "",
            f"agent {record['agent']}" if record.get("agent") else "",
            f"model {record['model']}" if record.get("model") else "",
        ]
        parts += [
            f"{limit:g} {key.replace('_', ' ')}"
            for key, limit in (record.get("budgets") or {}).items()
            if isinstance(limit, int | float)
        ]
        said = " · ".join(part for part in parts if part)
        if said:
            yield Line(self.now, said, tone="soft")

    def _attempt(self, record: Mapping[str, Any]) -> Iterator[Line]:
        if not record.get("ok"):
            where = f"attempt {record.get('number')} at {record.get('model')}"
            what = f"{where}: {record.get('error', '')}"
            yield self._line(record, what=what, result="failed", tone="warn")

    def _reply(self, record: Mapping[str, Any]) -> Iterator[Line]:
        text = one_line(str(record.get("text", "")))
        if text:
            took = record.get("duration_seconds")
            yield self._line(record, what=text, seconds=took, tone="head")

    def _call(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """What is known of a call."""
        key = f"{record.get('step')} {record.get('call')}"
        known = self.calls.setdefault(key, {})
        if record.get("type") == "tool/call":
            known["what"] = brief(str(record.get("name")), str(record.get("arguments", "")))
        return known

    def _decided(self, record: Mapping[str, Any]) -> Iterator[Line]:
        answer = str(record.get("answer"))
        what = f"answered by {record.get('by', 'nobody')}"
        tone: Tone = "good" if answer == "allowed" else "bad"
        took = record.get("duration_seconds")
        yield self._line(record, what=what, seconds=took, result=answer, tone=tone)

    def _result(self, record: Mapping[str, Any]) -> Iterator[Line]:
        known = self._call(record)
        known["done"] = True
        verdict = known.get("verdict") or {}
        denied = verdict.get("decision") == "deny"
        how = ending(record.get("outcome"))
        ok = record.get("ok") is True
        tone: Tone = "good" if ok and not how else "warn" if ok else "bad"
        yield Line(
            known.get("called", self.now),
            known.get("what", str(record.get("name"))),
            step=self._step(record),
            seconds=record.get("duration_seconds"),
            result="denied" if denied else how or ("ok" if ok else "failed"),
            rule=str(verdict.get("rule") or verdict.get("reason") or ""),
            tone=tone,
        )
        why = verdict.get("message") if denied else "" if ok else record.get("content")
        if why:
            yield Line(self.now, f"  {one_line(str(why))}", tone="bad")

    def open_calls(self) -> Iterator[Line]:
        """What was under way where the records end."""
        for known in self.calls.values():
            if known.get("what") and not known.get("done"):
                at = known.get("called", self.now)
                yield Line(at, known["what"], result="no result", tone="warn")

    def _status(self, record: Mapping[str, Any]) -> Iterator[Line]:
        status = str(record.get("status") or "")
        if status:
            tone: Tone = "good" if status == "completed" else "warn"
            yield Line(self.now, f"the agent ended: {status.replace('_', ' ')}", tone=tone)

    def _notice(self, record: Mapping[str, Any]) -> Iterator[Line]:
        kind, text = str(record.get("kind", "")), str(record.get("text", ""))
        tone = NOTICES.get(kind, "soft")
        yield Line(self.now, text if kind in QUIET else f"{kind}: {text}", tone=tone)

    def _verified(self, record: Mapping[str, Any]) -> Iterator[Line]:
        verdict = str(record.get("verdict"))
        tone = VERDICTS.get(verdict, "plain")
        yield Line(self.now, str(record.get("reason", "")), result=verdict, tone=tone)
        for one in record.get("findings") or ():
            left = ", left out" if one.get("left_out") else ""
            yield Line(self.now, f"  {one.get('path')}: {one.get('reason')}{left}", tone="warn")
        for test in record.get("missing") or ():
            yield Line(self.now, f"  not passed: {test}", tone="bad")

    def _end(self, record: Mapping[str, Any]) -> Iterator[Line]:
        spent = record.get("spent") or {}
        parts = [str(record.get("status")).replace("_", " ")]
        for key, unit in (
            ("steps", "steps"), ("tool_calls", "tool calls"), ("input_tokens", "tokens in"),
            ("output_tokens", "tokens out"), ("cost", "cost"),
        ):  # fmt: skip
            if spent.get(key) is not None:
                limit = self.budgets.get(key)
                of = f" of {limit:,}" if isinstance(limit, int | float) else ""
                parts.append(f"{spent[key]:,}{of} {unit}")
        if record.get("exit_code") is not None:
            parts.append(f"exit {record['exit_code']}")
        verdict = str(record.get("verdict") or "")
        tone = VERDICTS.get(verdict, "head")
        yield Line(self.now, " · ".join(parts), result=verdict, tone=tone)

    def _line(
        self,
        record: Mapping[str, Any],
        what: str,
        *,
        seconds: float | None = None,
        result: str = "",
        tone: Tone = "plain",
    ) -> Line:
        step = self._step(record)
        return Line(self.now, what, step=step, seconds=seconds, result=result, tone=tone)

    def _step(self, record: Mapping[str, Any]) -> int | None:
        """The number of the step, on the first of its lines alone."""
        step = record.get("step")
        if step is None or step == self.shown_step:
            return None
        self.shown_step = int(step)
        return self.shown_step


RESULT = 9
RULE = 18
NARROW = 76


def drawn(line: Line, width: int) -> Text:
    """A line in columns; the rule gives way first, then the durations."""
    wide = width >= NARROW
    text = Text(no_wrap=True, overflow="crop")
    text.append(f"{line.step or '':>3} ", "bold")
    text.append(f"{_offset(line.at):>8} ", "dim")
    if wide:
        took = duration(line.seconds) if line.seconds is not None else ""
        text.append(f"{took:>9}  ", "dim")
    style = STYLES[line.tone]
    tail = RESULT + (RULE if wide else 0) if line.result else 0
    room = max(10, width - cell_len(text.plain) - tail - 1)
    what = cut_cells(visible(line.what), room, indent=line.what.startswith("  "))
    text.append(what, style if not line.result else "")
    if line.result:
        text.append(" " * (room - cell_len(what) + 1))
        text.append(f"{visible(line.result):<{RESULT}}"[: RESULT + 8], style)
        if wide:
            text.append(cut(visible(line.rule), RULE), "dim")
    text.rstrip()
    return text


def cut_cells(text: str, room: int, *, indent: bool = False) -> str:
    """As much of a text as fits into so many columns; wide characters take two."""
    line = ("  " if indent else "") + one_line(text)
    if cell_len(line) <= room:
        return line
    while line and cell_len(line) > room - 1:
        line = line[: min(len(line) - 1, room)]
    return line + "…"


def _offset(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}:{rest:04.1f}"
