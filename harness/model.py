"""What a model is to the harness: nothing provider-specific."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

from harness.errors import MalformedReplyError
from harness.message import Message, Reasoning, ToolCall
from harness.signal import Signal

__all__ = [
    "Attempt",
    "Model",
    "ModelRequest",
    "Reply",
    "ToolDefinition",
    "Usage",
    "accept_reply",
]


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """All that a model learns of a tool."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """What the provider reported; None where it did not. Nothing here is ever estimated."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None

    @property
    def tokens(self) -> int | None:
        """Input and output together, None where neither was reported."""
        known = [n for n in (self.input_tokens, self.output_tokens) if n is not None]
        return sum(known) if known else None

    def reported(self) -> dict[str, int | float]:
        """The reported values by name."""
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: value for name, value in pairs if value is not None}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a provider; a request may take several."""

    number: int
    model: str
    ok: bool
    error: str = ""
    status: int | None = None
    wait_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request.

    Attributes:
        messages: a read-only view of the conversation.
        tools: what the model may name; empty means that the request has no tools field at all.
        signal: cancelled when the answer is no longer wanted.
        on_chunk: receives pieces of a streamed answer (harness.models), where an adapter has them.
        on_attempt: is told of every try.
    """

    messages: Sequence[Message]
    tools: tuple[ToolDefinition, ...]
    signal: Signal
    on_chunk: Callable[[Any], None] | None = None
    on_attempt: Callable[[Attempt], None] | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer.

    Attributes:
        text: what the model says, "" when it only calls tools.
        calls: what it asks for, in its order.
        usage: as reported, or None.
        repairs: what an adapter mended of the wire form, one sentence each, for the log.
        model: the name of the model that answered, where the provider says it.
        reasoning: what the provider wants back with the next request.
        cut: the provider's length limit ended the answer; its calls were dropped as unsafe.
    """

    text: str
    calls: Sequence[ToolCall] = ()
    usage: Usage | None = None
    repairs: tuple[str, ...] = ()
    model: str = ""
    reasoning: tuple[Reasoning, ...] = ()
    cut: bool = False


class Model(Protocol):
    """Something that answers.

    Promises:
     1. It does not change the request.
     2. What it cannot do is a ModelError, never a made-up Reply.
     3. It stops soon after ``request.signal`` is cancelled; the harness does not wait for ever.
    """

    async def generate(self, request: ModelRequest, /) -> Reply:
        """Answer one request."""
        ...


def accept_reply(reply: object) -> Reply:
    """The reply as it may enter a conversation, or MalformedReplyError.

    The types above are claims of an adapter; here they are checked, because a missing value must
    not travel on.
    """
    if not isinstance(reply, Reply):
        raise MalformedReplyError(f"the model returned {_kind(reply)} in place of a Reply")
    if not isinstance(reply.text, str):
        raise MalformedReplyError(f"the reply has no text content but {_kind(reply.text)}")
    if not isinstance(reply.calls, list | tuple):
        raise MalformedReplyError(f"the tool calls are no list but {_kind(reply.calls)}")
    if reply.usage is not None and not isinstance(reply.usage, Usage):
        raise MalformedReplyError(f"the usage is {_kind(reply.usage)}")
    seen: set[str] = set()
    for index, call in enumerate(reply.calls):
        _accept_call(index, call, seen)
    return reply


def _accept_call(index: int, call: object, seen: set[str]) -> None:
    if not isinstance(call, ToolCall):
        raise MalformedReplyError(f"tool call {index} is {_kind(call)}")
    if not _is_name(call.id):
        raise MalformedReplyError(f"tool call {index} has no id")
    if call.id in seen:
        raise MalformedReplyError(f"tool call {index} repeats the id {call.id!r}")
    if not _is_name(call.name):
        raise MalformedReplyError(f"tool call {index} names no tool")
    if not isinstance(call.arguments, str):
        raise MalformedReplyError(
            f"the arguments of tool call {index} are {_kind(call.arguments)}, not JSON text"
        )
    seen.add(call.id)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _kind(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
