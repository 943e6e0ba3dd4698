"""The records of a log folded into steps and messages: all that a model saw, said and got."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from harness.message import Assistant, Message, Reasoning, System, ToolCall, ToolMessage, User
from harness.model import Usage

__all__ = ["RecalledCall", "RecalledStep", "Recollection", "recall"]

Record: TypeAlias = Mapping[str, Any]


@dataclass(slots=True)
class RecalledCall:
    """A call of a model with what came of it; ``result`` is None where the log has none."""

    id: str
    name: str
    arguments: str
    verdict: Record | None = None
    result: Record | None = None

    @property
    def content(self) -> str:
        """What the model read."""
        return "" if self.result is None else str(self.result.get("content", ""))

    @property
    def outcomes(self) -> list[Record]:
        """What became of the programs that it ran, in order; [] where it ran none."""
        outcome = None if self.result is None else self.result.get("outcome")
        return list((outcome or {}).get("outcomes") or ())

    @property
    def code(self) -> int | None:
        """The exit code of the last program, None where there is none."""
        return self.outcomes[-1].get("code") if self.outcomes else None

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return self.result is not None and self.result.get("ok") is True


@dataclass(slots=True)
class RecalledStep:
    """One answer of the model, with the messages that were new before it."""

    number: int
    at: str
    request: Record
    before: list[Message] = field(default_factory=list)
    reply: Record | None = None
    replied_at: str = ""
    calls: list[RecalledCall] = field(default_factory=list)

    @property
    def assistant(self) -> Assistant | None:
        """The answer as a message, None where none was accepted."""
        if self.reply is None:
            return None
        calls = tuple(ToolCall(c.id, c.name, c.arguments) for c in self.calls)
        reasoning = tuple(
            Reasoning(*(_text(one, key) for key in ("text", "signature", "provider", "data")))
            for one in self.reply.get("reasoning") or ()
        )
        return Assistant(str(self.reply.get("text", "")), calls, reasoning)

    @property
    def usage(self) -> Usage | None:
        """What the provider reported of this answer, None where it reported nothing."""
        said = (self.reply or {}).get("usage") or {}
        names = ("input_tokens", "output_tokens", "cached_tokens", "cost")
        found = {name: said[name] for name in names if said.get(name) is not None}
        return Usage(**found) if found else None

    @property
    def whole(self) -> bool:
        """Whether every call has its result."""
        return self.reply is not None and all(call.result is not None for call in self.calls)


@dataclass(slots=True)
class Recollection:
    """A run as its log tells it.

    Attributes:
        run: its id.
        start: the first record.
        end: the last one where the run ended, else None.
        steps: in order.
        tools: the definitions that the model had last.
        others: calls outside of the model's (the task's own scripts).
    """

    run: str = ""
    start: Record = field(default_factory=dict)
    end: Record | None = None
    steps: list[RecalledStep] = field(default_factory=list)
    tools: list[Record] = field(default_factory=list)
    others: list[RecalledCall] = field(default_factory=list)

    @property
    def messages(self) -> list[Message]:
        """The conversation, a valid one: it stops before a batch whose results are not whole."""
        made: list[Message] = []
        for step in self.steps:
            made += step.before
            answer = step.assistant
            if answer is None:
                continue  # asked, and asked again after an interruption
            if not step.whole:
                break
            made.append(answer)
            made += [ToolMessage(c.id, c.name, c.content, not c.ok) for c in step.calls]
        return made


def recall(records: Iterable[Record]) -> Recollection:
    """The run that these records tell of; records of other types are passed over."""
    fold = _Fold()
    for record in records:
        fold.take(record)
    return fold.run


class _Fold:
    def __init__(self) -> None:
        self.run = Recollection()
        self._calls: dict[tuple[int, str], RecalledCall] = {}
        self._step: RecalledStep | None = None

    def take(self, record: Record) -> None:
        match record.get("type"):
            case "run/start":
                self.run.start = record
                self.run.run = str(record.get("run", ""))
            case "model/request":
                self._request(record)
            case "model/reply":
                self._reply(record)
            case "tool/call":
                self._call(record)
            case "tool/verdict":
                self._of(record).verdict = record
            case "tool/result":
                self._of(record).result = record
            case "run/end":
                self.run.end = record

    def _request(self, record: Record) -> None:
        step = RecalledStep(int(record.get("step", 0)), str(record.get("at", "")), record)
        step.before = [_message(one) for one in record.get("added") or ()]
        if record.get("tools") is not None:
            self.run.tools = list(record["tools"])
        self.run.steps.append(step)
        self._step = step

    def _reply(self, record: Record) -> None:
        if self._step is None:
            return
        self._step.reply, self._step.replied_at = record, str(record.get("at", ""))
        for one in record.get("calls") or ():
            call = RecalledCall(_text(one, "id"), _text(one, "name"), _text(one, "arguments"))
            self._step.calls.append(call)
            self._calls[self._step.number, call.id] = call

    def _call(self, record: Record) -> None:
        key = (int(record.get("step", 0)), str(record.get("call")))
        if key not in self._calls:
            call = RecalledCall(key[1], str(record.get("name")), str(record.get("arguments")))
            self._calls[key] = call
            self.run.others.append(call)

    def _of(self, record: Record) -> RecalledCall:
        key = (int(record.get("step", 0)), str(record.get("call")))
        if key not in self._calls:
            self._call({**record, "arguments": ""})
        return self._calls[key]


def _text(one: Record, key: str) -> str:
    """A text of an object in a record; what is absent or null is empty."""
    return str(one.get(key) or "")


def _message(one: Record) -> Message:
    role, text = one.get("role"), _text(one, "text")
    if role == "system":
        return System(text)
    if role == "context":
        return User(text, origin="context")
    if role == "toolmessage":
        tool, content = _text(one, "tool"), _text(one, "content")
        return ToolMessage(_text(one, "call_id"), tool, content, bool(one.get("is_error")))
    if role == "assistant":
        calls = tuple(
            ToolCall(_text(call, "id"), _text(call, "name"), _text(call, "arguments"))
            for call in one.get("calls") or ()
        )
        return Assistant(text, calls)
    return User(text)
