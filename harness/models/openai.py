"""The OpenAI chat completions protocol: requests out, answers in, streamed or not.

Source: the API reference of OpenAI, "Chat Completions". The quirks of servers that speak it less
exactly (Ollama, vLLM, gateways) are mended here and each is reported as a repair.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.message import Assistant, Message, Reasoning, System, ToolCall, ToolMessage, User
from harness.model import ModelRequest, ToolDefinition, Usage
from harness.models.chunk import (
    CallDelta,
    Chunk,
    Finish,
    FinishReason,
    ReasoningDelta,
    Repair,
    TextDelta,
    UsageReport,
)
from harness.models.fault import WireError, fault_of_error
from harness.models.lenient import number_or_none, text_or_empty
from harness.models.sse import Event

__all__ = ["OpenAIDialect", "from_wire", "to_wire"]

_FINISH: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
}


class OpenAIDialect:
    """What the chat completions protocol looks like."""

    name = "openai"
    default_base = "https://api.openai.com/v1"
    default_model = "gpt-4.1-mini"

    def url(self, base: str) -> str:
        """The route below whatever base is given (S-194)."""
        return base.rstrip("/") + "/chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        """The bearer key; none for a server that asks for none."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(
        self, request: ModelRequest, model: str, *, stream: bool, max_tokens: int | None
    ) -> dict[str, Any]:
        """The JSON body; no tools field where there are no tools (S-24)."""
        body: dict[str, Any] = {"model": model, "messages": to_wire(request.messages)}
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            body["tool_choice"] = "auto"
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        body["stream"] = stream
        if stream:
            body["stream_options"] = {"include_usage": True}
        return body

    def reader(self) -> OpenAIReader:
        """What reads one streamed answer."""
        return OpenAIReader()

    def chunks(self, document: object) -> Iterator[Chunk]:
        """The chunks of an answer that was not streamed."""
        reader = OpenAIReader()
        if not isinstance(document, dict):
            raise WireError(f"the answer is no JSON object but {type(document).__name__}")
        if document.get("error"):
            raise fault_of_error(document["error"])
        choices = document.get("choices")
        if not isinstance(choices, list) or not choices:
            raise WireError("the answer has no choices")
        choice = choices[0] if isinstance(choices[0], dict) else {}
        message = choice.get("message")
        if not isinstance(message, dict):
            raise WireError("the answer has no message")
        if message.get("content") is None:
            yield Repair("null content read as empty text")
        yield from reader.delta(message)
        yield from reader.usage(document)
        yield Finish(
            reader.reason(choice.get("finish_reason")), text_or_empty(document.get("model"))
        )


class OpenAIReader:
    """Reads the events of one streamed answer. Calls are told apart by index and by id.

    Some servers leave the index out, count it from elsewhere, or write 0 for every call of a
    batch: a new id under a known index is a new call.
    """

    def __init__(self) -> None:
        self._slots: dict[str, _Slot] = {}  # by index
        self._count = 0
        self._finish: str | None = None
        self._model = ""
        self.done = False

    def read(self, event: Event) -> Iterator[Chunk]:
        """The chunks of one event."""
        if event.data.strip() == "[DONE]":
            yield from self.close()
            return
        document = _loads(event.data)
        if document.get("error"):
            raise fault_of_error(document["error"])
        self._model = text_or_empty(document.get("model")) or self._model
        choices = document.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, dict) or choice.get("index") not in (0, None):
                continue
            delta = choice.get("delta")
            if isinstance(delta, dict):
                yield from self.delta(delta)
            if choice.get("finish_reason"):
                self._finish = str(choice["finish_reason"])
        yield from self.usage(document)

    def close(self) -> Iterator[Chunk]:
        """At the end of the stream: a Finish, if the server had said that the answer is whole."""
        if not self.done and self._finish is not None:
            self.done = True
            yield Finish(self.reason(self._finish), self._model)

    def reason(self, said: object) -> FinishReason:
        """The finish reason; what servers say of calls is not believed, the calls are."""
        return _FINISH.get(str(said), "calls" if self._count else "stop")

    def delta(self, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        """The content of one delta or message."""
        for key in ("reasoning_content", "reasoning"):
            if isinstance(delta.get(key), str) and delta[key]:
                yield ReasoningDelta("0", text=delta[key], provider=f"openai:{key}")
                break
        text = _content(delta.get("content"))
        if text:
            yield TextDelta(text)
        if isinstance(delta.get("refusal"), str) and delta["refusal"]:
            yield TextDelta(delta["refusal"])
        calls = delta.get("tool_calls")
        if calls is not None and not isinstance(calls, list):
            raise WireError("the tool calls of the answer are no list")
        for position, call in enumerate(calls or ()):
            yield from self._call(call, position)

    def _call(self, call: object, position: int) -> Iterator[Chunk]:
        if not isinstance(call, dict):
            raise WireError("a tool call of the answer is no object")
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        identity, name = text_or_empty(call.get("id")), text_or_empty(function.get("name"))
        index = call.get("index")
        key = str(index) if index is not None else f"at-{position}"
        slot = self._slots.get(key)
        if slot is None or slot.ends_before(identity, name):
            if slot is not None and index is not None:
                yield Repair(f"index {index} stands for two calls")
            slot = self._slots[key] = _Slot(str(self._count))
            self._count += 1
        arguments = function.get("arguments")
        if arguments is not None and not isinstance(arguments, str):
            yield Repair(f"arguments of {name or 'a call'} as {type(arguments).__name__}, not text")
            arguments = json.dumps(arguments)
        yield slot.take(identity, name, arguments or "")

    def usage(self, document: Mapping[str, Any]) -> Iterator[Chunk]:
        """The usage, where it is reported."""
        usage = document.get("usage")
        if not isinstance(usage, dict):
            return
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        yield UsageReport(
            Usage(
                number_or_none(usage.get("prompt_tokens")),
                number_or_none(usage.get("completion_tokens")),
                number_or_none(cached),
            )
        )


class _Slot:
    """One call while it is being streamed."""

    def __init__(self, name: str) -> None:
        self.slot = name
        self._id = ""
        self._name = ""
        self._arguments = ""

    def ends_before(self, identity: str, name: str) -> bool:
        """Whether a delta with this id and name begins another call under the same index."""
        if identity and self._id:
            return identity != self._id
        return bool(name) and bool(self._name) and _whole(self._arguments)

    def take(self, identity: str, name: str, arguments: str) -> CallDelta:
        """The delta; a name or id that is sent again and again counts once."""
        name = "" if name == self._name else name
        self._id = self._id or identity
        self._name += name
        self._arguments += arguments
        return CallDelta(self.slot, identity, name, arguments)


def _whole(arguments: str) -> bool:
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return True


def to_wire(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Neutral messages in OpenAI's form, one for one (S-207)."""
    return [_message(message) for message in messages]


def from_wire(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """OpenAI's form as neutral messages; the inverse of :func:`to_wire`.

    A tool message of the wire names neither its tool nor an error: the tool is found through its
    call, and an error is told by the prefix that :func:`to_wire` leaves unchanged in the text.
    """
    tools: dict[str, str] = {}
    made: list[Message] = []
    for message in messages:
        role, text = message.get("role"), _content(message.get("content"))
        if role in ("system", "developer"):
            made.append(System(text))
        elif role == "user":
            made.append(User(text))
        elif role == "assistant":
            calls = tuple(
                ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
                for call in message.get("tool_calls") or ()
            )
            tools.update((call.id, call.name) for call in calls)
            reasoning = tuple(
                Reasoning(message[key], provider=f"openai:{key}")
                for key in ("reasoning_content", "reasoning")
                if message.get(key)
            )
            made.append(Assistant(text, calls, reasoning))
        elif role == "tool":
            identity = str(message.get("tool_call_id", ""))
            made.append(ToolMessage(identity, tools.get(identity, ""), text))
        else:
            raise WireError(f"a message of the unknown role {role!r}")
    return made


def _message(message: Message) -> dict[str, Any]:
    match message:
        case System(text):
            return {"role": "system", "content": text}
        case User(text):
            return {"role": "user", "content": text}
        case ToolMessage(call_id=identity, content=content):
            return {"role": "tool", "tool_call_id": identity, "content": content}
        case Assistant():
            return _assistant(message)


def _assistant(message: Assistant) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": "assistant", "content": message.text}
    for block in message.reasoning:
        kind, _, key = block.provider.partition(":")
        if kind == "openai" and key:
            wire[key] = block.text
    if message.calls:
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments or "{}"},
            }
            for call in message.calls
        ]
    return wire


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    }


def _content(content: object) -> str:
    """The text of a content field: a text, null, or a list of text parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise WireError(f"the content of the answer is {type(content).__name__}, not text")
    parts: list[str] = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in ("text", "output_text", "refusal"):
            raise WireError(f"content of the kind {kind!r} (images and the like) is not supported")
        parts.append(text_or_empty(part.get("text") or part.get("refusal")))
    return "".join(parts)


def _loads(data: str) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except ValueError as error:
        raise WireError(f"an event of the stream is no JSON: {error}", retryable=True) from error
    if not isinstance(document, dict):
        raise WireError("an event of the stream is no JSON object")
    return document
