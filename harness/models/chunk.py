"""A streamed answer as a closed union of chunks, and the one assembler that makes a Reply of them.

Dialects (OpenAI, Anthropic) translate their events into these; nothing else knows their forms.
Order: any number of deltas, then usage if the provider reports it, then one Finish.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from harness.message import Reasoning, ToolCall
from harness.model import Reply, Usage

__all__ = [
    "Assembler",
    "CallDelta",
    "Chunk",
    "Finish",
    "FinishReason",
    "ReasoningDelta",
    "Repair",
    "TextDelta",
    "UsageReport",
]

FinishReason: TypeAlias = Literal["stop", "calls", "length", "filtered"]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the reasoning of one block, with what the protocol wants back unchanged."""

    block: str
    text: str = ""
    signature: str = ""
    data: str = ""
    provider: str = ""


@dataclass(frozen=True, slots=True)
class CallDelta:
    """More of one tool call; ``slot`` tells calls apart while they are being streamed."""

    slot: str
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What the provider reported so far; later values replace earlier ones."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Repair:
    """The wire form was mended; one sentence for the log."""

    what: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The answer is whole, or was cut at a limit (``length``) or withheld (``filtered``)."""

    reason: FinishReason
    model: str = ""


Chunk: TypeAlias = TextDelta | ReasoningDelta | CallDelta | UsageReport | Repair | Finish


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Assembler:
    """Collects the chunks of one answer.

    Promises:
     1. Calls come out in the order in which they began, whatever their slots were.
     2. Ids are unique and not empty; each one made up or changed is a repair.
     3. A cut answer has no calls: their arguments may be incomplete.
    """

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: dict[str, ReasoningDelta] = {}
        self._calls: dict[str, _Call] = {}
        self._usage: Usage | None = None
        self._repairs: list[str] = []
        self._finish: Finish | None = None

    @property
    def finished(self) -> bool:
        """Whether the provider said that the answer is whole."""
        return self._finish is not None

    @property
    def begun(self) -> bool:
        """Whether any content arrived."""
        return bool(self._text or self._reasoning or self._calls)

    def feed(self, chunk: Chunk) -> None:
        """Take one chunk."""
        match chunk:
            case TextDelta(text):
                self._text.append(text)
            case ReasoningDelta():
                self._reason(chunk)
            case CallDelta(slot, identity, name, arguments):
                call = self._calls.setdefault(slot, _Call())
                call.id = call.id or identity
                call.name += name
                call.arguments.append(arguments)
            case UsageReport(usage):
                self._usage = _merged(self._usage, usage)
            case Repair(what):
                self._repairs.append(what)
            case Finish():
                self._finish = chunk

    def _reason(self, delta: ReasoningDelta) -> None:
        old = self._reasoning.get(delta.block)
        if old is not None:
            delta = ReasoningDelta(
                delta.block,
                old.text + delta.text,
                old.signature + delta.signature,
                old.data + delta.data,
                old.provider or delta.provider,
            )
        self._reasoning[delta.block] = delta

    def reply(self) -> Reply:
        """The whole answer; call it after the last chunk."""
        finish = self._finish or Finish("stop")
        cut = finish.reason == "length"
        calls = [] if cut else self._made_calls()
        if cut and self._calls:
            self._repairs.append(
                f"the answer was cut at the length limit: {len(self._calls)} calls dropped"
            )
        return Reply(
            text="".join(self._text),
            calls=tuple(calls),
            usage=self._usage,
            repairs=tuple(self._repairs),
            model=finish.model,
            reasoning=tuple(
                Reasoning(r.text, r.signature, r.provider, r.data) for r in self._reasoning.values()
            ),
            cut=cut,
        )

    def _made_calls(self) -> list[ToolCall]:
        seen: set[str] = set()
        made: list[ToolCall] = []
        for number, call in enumerate(self._calls.values(), 1):
            identity = call.id or f"call-{number}"
            if not call.id:
                self._repairs.append(f"call {number} ({call.name}) had no id")
            if identity in seen:
                self._repairs.append(f"call {number} ({call.name}) repeated the id {identity!r}")
            suffix = 1
            while identity in seen:
                suffix += 1
                identity = f"{call.id or f'call-{number}'}-{suffix}"
            seen.add(identity)
            made.append(ToolCall(identity, call.name, "".join(call.arguments)))
        return made


def _merged(old: Usage | None, new: Usage) -> Usage:
    if old is None:
        return new
    return Usage(
        new.input_tokens if new.input_tokens is not None else old.input_tokens,
        new.output_tokens if new.output_tokens is not None else old.output_tokens,
        new.cached_tokens if new.cached_tokens is not None else old.cached_tokens,
        new.cost if new.cost is not None else old.cost,
    )
