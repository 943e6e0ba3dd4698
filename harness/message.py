"""The neutral form of a conversation. Adapters translate it to and from a provider's form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "Assistant",
    "Message",
    "Reasoning",
    "System",
    "ToolCall",
    "ToolMessage",
    "User",
    "conversation_fault",
]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model asks for.

    Attributes:
        id: the model's own, kept unchanged and returned with the result.
        name: of the tool, as the model wrote it.
        arguments: the raw JSON text; nothing has looked at it yet.
    """

    id: str
    name: str
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class System:
    """What the operator tells the model; the first message of every request."""

    text: str


@dataclass(frozen=True, slots=True)
class User:
    """What the user says; ``origin`` is ``context`` for notes that the harness adds."""

    text: str
    origin: Literal["user", "context"] = "user"


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What a provider wants back unchanged with the next request; never shown as text.

    Attributes:
        text: the reasoning, where the provider shows it.
        signature: the provider's own proof of it.
        provider: whose it is; an adapter returns only its own.
        data: an opaque form in place of the text.
    """

    text: str
    signature: str = ""
    provider: str = ""
    data: str = ""


@dataclass(frozen=True, slots=True)
class Assistant:
    """What the model answered."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    reasoning: tuple[Reasoning, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The result of one call, as the model reads it."""

    call_id: str
    tool: str
    content: str
    is_error: bool = False


Message: TypeAlias = System | User | Assistant | ToolMessage


def conversation_fault(messages: Sequence[Message] | Iterable[Message]) -> str | None:
    """What makes this no valid conversation to send, or None.

    Valid: one system message at most, in front; every batch of calls directly followed by exactly
    its results, in order; no result without its call.
    """
    waiting: list[str] = []
    for index, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if not waiting:
                return f"message {index}: a result of {message.call_id!r} that no call awaits"
            expected = waiting.pop(0)
            if expected != message.call_id:
                return f"message {index}: a result of {message.call_id!r} in place of {expected!r}"
            continue
        if waiting:
            return f"message {index}: the call {waiting[0]!r} has no result yet"
        if isinstance(message, System) and index:
            return f"message {index}: a system message that is not the first"
        if isinstance(message, Assistant):
            waiting = [call.id for call in message.calls]
    return f"the call {waiting[0]!r} has no result" if waiting else None
