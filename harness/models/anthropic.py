"""The Anthropic messages protocol: requests out, answers in, streamed or not.

Source: Anthropic's API reference, "Messages" and "Streaming Messages".
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

__all__ = ["AnthropicDialect", "from_wire", "to_wire"]

VERSION = "2023-06-01"
MAX_TOKENS = 8192
"""The protocol demands a bound; this one is used where the operator sets none."""

UNPARSED = "unparsed_arguments"
"""Key under which arguments that were no JSON object go back, since `input` must be one."""

_FINISH: dict[str, FinishReason] = {
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filtered",
}


class AnthropicDialect:
    """What the messages protocol looks like."""

    name = "anthropic"
    default_base = "https://api.anthropic.com"
    default_model = "claude-sonnet-4-5"

    def url(self, base: str) -> str:
        """The route; a base may end with the version or not."""
        base = base.rstrip("/")
        return base + ("/messages" if base.endswith("/v1") else "/v1/messages")

    def headers(self, key: str) -> dict[str, str]:
        """The key and the version of the protocol."""
        headers = {"anthropic-version": VERSION}
        if key:
            headers["x-api-key"] = key
        return headers

    def body(
        self, request: ModelRequest, model: str, *, stream: bool, max_tokens: int | None
    ) -> dict[str, Any]:
        """The JSON body."""
        system, messages = to_wire(request.messages)
        body: dict[str, Any] = {
            "model": model,
            "max_tokens": max_tokens or MAX_TOKENS,
            "messages": messages,
            "stream": stream,
        }
        if system:
            body["system"] = system
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            body["tool_choice"] = {"type": "auto"}
        return body

    def reader(self) -> AnthropicReader:
        """What reads one streamed answer."""
        return AnthropicReader()

    def chunks(self, document: object) -> Iterator[Chunk]:
        """The chunks of an answer that was not streamed."""
        if not isinstance(document, dict):
            raise WireError(f"the answer is no JSON object but {type(document).__name__}")
        if document.get("type") == "error" or document.get("error"):
            raise fault_of_error(document.get("error"))
        content = document.get("content")
        if isinstance(content, str):
            yield Repair("content as text, not as blocks")
            content = [{"type": "text", "text": content}]
        if content is None:
            yield Repair("null content read as empty text")
        elif not isinstance(content, list):
            raise WireError("the content of the answer is no list of blocks")
        for index, block in enumerate(content or ()):
            yield from _whole_block(str(index), block)
        yield from _usage(document.get("usage"))
        reason = _FINISH.get(str(document.get("stop_reason")), "stop")
        yield Finish(reason, text_or_empty(document.get("model")))


class AnthropicReader:
    """Reads the events of one streamed answer."""

    def __init__(self) -> None:
        self._reason: str | None = None
        self._model = ""
        self._inputs: dict[str, str] = {}  # a start's own input, used where no delta follows
        self.done = False

    def read(self, event: Event) -> Iterator[Chunk]:
        """The chunks of one event; events of unknown types are skipped, as the protocol asks."""
        document = _loads(event.data)
        match document.get("type") or event.name:
            case "error":
                raise fault_of_error(document.get("error"))
            case "message_start":
                message = _table(document.get("message"))
                self._model = text_or_empty(message.get("model"))
                yield from _usage(message.get("usage"))
            case "content_block_start":
                yield from self._start(str(document.get("index")), document)
            case "content_block_delta":
                yield from self._delta(str(document.get("index")), _table(document.get("delta")))
            case "content_block_stop":
                yield from self._stop(str(document.get("index")))
            case "message_delta":
                reason = _table(document.get("delta")).get("stop_reason")
                self._reason = str(reason) if reason else self._reason
                yield from _usage(document.get("usage"))
            case "message_stop":
                self._reason = self._reason or "end_turn"
                yield from self.close()

    def close(self) -> Iterator[Chunk]:
        """At the end of the stream: a Finish, if the server had said why it stopped."""
        if not self.done and self._reason is not None:
            self.done = True
            yield Finish(_FINISH.get(self._reason, "stop"), self._model)

    def _start(self, index: str, document: Mapping[str, Any]) -> Iterator[Chunk]:
        block = _table(document.get("content_block"))
        if block.get("type") != "tool_use":
            yield from _whole_block(index, block)
            return
        self._inputs[index] = json.dumps(block["input"]) if block.get("input") else ""
        yield CallDelta(index, text_or_empty(block.get("id")), text_or_empty(block.get("name")))

    def _delta(self, index: str, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        match delta.get("type"):
            case "text_delta":
                yield TextDelta(text_or_empty(delta.get("text")))
            case "input_json_delta":
                if delta.get("partial_json"):
                    self._inputs.pop(index, None)
                    yield CallDelta(index, arguments=text_or_empty(delta.get("partial_json")))
            case "thinking_delta":
                yield ReasoningDelta(
                    index, text_or_empty(delta.get("thinking")), provider="anthropic"
                )
            case "signature_delta":
                signature = text_or_empty(delta.get("signature"))
                yield ReasoningDelta(index, signature=signature, provider="anthropic")

    def _stop(self, index: str) -> Iterator[Chunk]:
        whole = self._inputs.pop(index, "")
        if whole:
            yield Repair("arguments in the start of a block")
            yield CallDelta(index, arguments=whole)


def to_wire(messages: Sequence[Message]) -> tuple[str, list[dict[str, Any]]]:
    """Neutral messages in Anthropic's form: the system text, and turns that alternate.

    Results and notes between two answers become one user turn, results first, as the protocol
    demands.
    """
    system = ""
    turns: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, System):
            system = message.text
            continue
        role = "assistant" if isinstance(message, Assistant) else "user"
        blocks = _blocks(message)
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"].extend(blocks)
        else:
            turns.append({"role": role, "content": blocks})
    return system, turns


def from_wire(system: str, turns: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Anthropic's form as neutral messages; the inverse of :func:`to_wire`."""
    tools: dict[str, str] = {}
    made: list[Message] = [System(system)] if system else []
    for turn in turns:
        content = turn.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if turn.get("role") == "assistant":
            answer = _answer(blocks or ())
            tools.update((call.id, call.name) for call in answer.calls)
            made.append(answer)
        else:
            made.extend(_said(block, tools) for block in blocks or ())
    return made


def _blocks(message: Message) -> list[dict[str, Any]]:
    match message:
        case User(text):
            return [{"type": "text", "text": text}] if text else []
        case ToolMessage():
            block: dict[str, Any] = {
                "type": "tool_result",
                "tool_use_id": message.call_id,
                "content": message.content,
            }
            if message.is_error:
                block["is_error"] = True
            return [block]
        case Assistant():
            blocks = [_thought(r) for r in message.reasoning if r.provider == "anthropic"]
            if message.text:
                blocks.append({"type": "text", "text": message.text})
            return blocks + [_use(call) for call in message.calls]
        case System():
            return []


def _thought(block: Reasoning) -> dict[str, Any]:
    if block.data:
        return {"type": "redacted_thinking", "data": block.data}
    return {"type": "thinking", "thinking": block.text, "signature": block.signature}


def _use(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = json.loads(call.arguments or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        arguments = {UNPARSED: call.arguments}
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _answer(blocks: Sequence[Mapping[str, Any]]) -> Assistant:
    text: list[str] = []
    calls: list[ToolCall] = []
    reasoning: list[Reasoning] = []
    for block in blocks:
        match block.get("type"):
            case "text":
                text.append(text_or_empty(block.get("text")))
            case "thinking":
                reasoning.append(Reasoning(block["thinking"], block["signature"], "anthropic"))
            case "redacted_thinking":
                reasoning.append(Reasoning("", "", "anthropic", block["data"]))
            case "tool_use":
                given = block.get("input")
                raw = given.get(UNPARSED) if isinstance(given, dict) and len(given) == 1 else None
                arguments = raw if isinstance(raw, str) else json.dumps(given)
                calls.append(ToolCall(block["id"], block["name"], arguments))
    return Assistant("".join(text), tuple(calls), tuple(reasoning))


def _said(block: Mapping[str, Any], tools: Mapping[str, str]) -> Message:
    if block.get("type") == "tool_result":
        identity = text_or_empty(block.get("tool_use_id"))
        content = text_or_empty(block.get("content"))
        return ToolMessage(identity, tools.get(identity, ""), content, bool(block.get("is_error")))
    if block.get("type") == "text":
        return User(text_or_empty(block.get("text")))
    raise WireError(f"content of the kind {block.get('type')!r} is not supported")


def _whole_block(index: str, block: object) -> Iterator[Chunk]:
    block = _table(block)
    match block.get("type"):
        case "text":
            if block.get("text"):
                yield TextDelta(text_or_empty(block.get("text")))
        case "thinking":
            yield ReasoningDelta(
                index,
                text_or_empty(block.get("thinking")),
                text_or_empty(block.get("signature")),
                "",
                "anthropic",
            )
        case "redacted_thinking":
            yield ReasoningDelta(index, data=text_or_empty(block.get("data")), provider="anthropic")
        case "tool_use":
            given = block.get("input")
            if isinstance(given, str):
                yield Repair(f"input of {block.get('name')} as text, not as an object")
            arguments = given if isinstance(given, str) else json.dumps(given or {})
            yield CallDelta(
                index, text_or_empty(block.get("id")), text_or_empty(block.get("name")), arguments
            )
        case kind:
            raise WireError(f"content of the kind {kind!r} is not supported")


def _usage(usage: object) -> Iterator[Chunk]:
    if not isinstance(usage, dict):
        return
    fresh, cached = (
        number_or_none(usage.get("input_tokens")),
        number_or_none(usage.get("cache_read_input_tokens")),
    )
    written = number_or_none(usage.get("cache_creation_input_tokens"))
    read = None if fresh is None else fresh + (cached or 0) + (written or 0)
    yield UsageReport(Usage(read, number_or_none(usage.get("output_tokens")), cached))


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    }


def _loads(data: str) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except ValueError as error:
        raise WireError(f"an event of the stream is no JSON: {error}", retryable=True) from error
    return _table(document)


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WireError(f"an object was expected where the answer has {type(value).__name__}")
    return value
