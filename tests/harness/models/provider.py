"""A model provider on loopback: both protocols over real HTTP, with a script of answers and faults.

One request takes one item of the script: a Say is answered in the protocol and form that was asked
for, a Fault misbehaves. A script that is used up answers 418, so that no test passes by accident.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Say:
    """A good answer."""

    text: str = ""
    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    usage: tuple[int, int] | None = (11, 7)
    finish: str = ""


@dataclass
class Fault:
    """A bad one. ``kind``: status, drop, cut, hang, drip, flood, error200, raw."""

    kind: str
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b'{"error": {"message": "try again"}}'
    say: Say = field(default_factory=Say)


@dataclass
class Provider:
    """What was asked, and what is still to be answered."""

    script: list[Say | Fault]
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.closed.set()
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].split(" ")[1]
        headers = {k.lower(): v for k, _, v in (h.partition(": ") for h in head[1:] if h)}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        self.requests.append((path, headers, body))
        protocol = "anthropic" if path.endswith("/messages") else "openai"
        item = self.script.pop(0) if self.script else Fault("status", 418, {}, b"script used up")
        if isinstance(item, Say):
            await self._say(writer, protocol, item, stream=bool(body.get("stream")))
            return True
        return await self._fault(reader, writer, protocol, item, stream=bool(body.get("stream")))

    async def _say(self, writer: Any, protocol: str, say: Say, *, stream: bool) -> None:
        if not stream:
            await respond(writer, 200, json.dumps(document(protocol, say)).encode())
            return
        start_stream(writer)
        for event in events(protocol, say):
            await chunk(writer, event)
        await chunk(writer, b"")

    async def _fault(
        self, reader: Any, writer: Any, protocol: str, fault: Fault, *, stream: bool
    ) -> bool:
        match fault.kind:
            case "status":
                await respond(writer, fault.status, fault.body, fault.headers)
                return True
            case "error200":
                if stream:
                    start_stream(writer)
                    await chunk(writer, b"event: error\ndata: " + fault.body + b"\n\n")
                    await chunk(writer, b"")
                else:
                    await respond(writer, 200, fault.body)
                return True
            case "raw":
                await respond(writer, 200, fault.body, fault.headers)
                return True
            case "drop":
                return False
            case "hang":
                await reader.read(1)  # until the client goes
                return False
            case "cut":
                whole = events(protocol, fault.say)
                start_stream(writer)
                for event in whole[: len(whole) // 2]:
                    await chunk(writer, event)
                return False
            case "drip":
                start_stream(writer)
                while not reader.at_eof():
                    await chunk(writer, b":")
                    await asyncio.sleep(0.02)
                return False
            case "flood":
                start_stream(writer)
                line = b"data: " + b"x" * 65536
                while not reader.at_eof():
                    await chunk(writer, line)
                return False
        raise AssertionError(fault.kind)


@asynccontextmanager
async def provider(*script: Say | Fault) -> AsyncIterator[Provider]:
    """A provider with this script; ``url`` is its base."""
    made = Provider(list(script))
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    made.url = f"http://127.0.0.1:{port}/v1"
    try:
        yield made
    finally:
        server.close()


def start_stream(writer: Any) -> None:
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )


async def chunk(writer: Any, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()


async def respond(
    writer: Any, status: int, body: bytes, headers: dict[str, str] | None = None
) -> None:
    lines = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **(headers or {}),
    }
    head = "".join(f"{key}: {value}\r\n" for key, value in lines.items())
    writer.write(f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + body)
    await writer.drain()


def document(protocol: str, say: Say) -> dict[str, Any]:
    """The answer that is not streamed."""
    return openai_document(say) if protocol == "openai" else anthropic_document(say)


def events(protocol: str, say: Say) -> list[bytes]:
    """The answer as server-sent events, keep-alive comments among them."""
    made = openai_events(say) if protocol == "openai" else anthropic_events(say)
    return [b": keep-alive\n\n", *made]


def openai_document(say: Say) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": say.text or None}
    if say.calls:
        message["tool_calls"] = [
            {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
            for i, n, a in say.calls
        ]
    reason = say.finish or ("tool_calls" if say.calls else "stop")
    made: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "test-model",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    }
    if say.usage:
        made["usage"] = openai_usage(say.usage)
    return made


def openai_usage(usage: tuple[int, int]) -> dict[str, Any]:
    return {
        "prompt_tokens": usage[0],
        "completion_tokens": usage[1],
        "total_tokens": sum(usage),
        "prompt_tokens_details": {"cached_tokens": 3},
    }


def openai_events(say: Say) -> list[bytes]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": part} for part in pieces(say.text)]
    for index, (identity, name, _) in enumerate(say.calls):
        function = {"name": name, "arguments": ""}
        call = {"index": index, "id": identity, "type": "function", "function": function}
        deltas.append({"tool_calls": [call]})
    parts = [pieces(json.dumps(arguments)) for _, _, arguments in say.calls]
    for turn in range(max((len(p) for p in parts), default=0)):  # interleaved
        for index, part in enumerate(parts):
            if turn < len(part):
                call = {"index": index, "function": {"arguments": part[turn]}}
                deltas.append({"tool_calls": [call]})
    reason = say.finish or ("tool_calls" if say.calls else "stop")
    made = [openai_event([{"index": 0, "delta": d, "finish_reason": None}]) for d in deltas]
    made.append(openai_event([{"index": 0, "delta": {}, "finish_reason": reason}]))
    if say.usage:
        made.append(openai_event([], usage=openai_usage(say.usage)))
    return [*made, b"data: [DONE]\n\n"]


def openai_event(choices: Sequence[Any], **more: Any) -> bytes:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1}
    return sse({**head, "model": "test-model", "choices": choices, **more})


def anthropic_document(say: Say) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": say.text}] if say.text else []
    content += [{"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a in say.calls]
    made: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "test-model",
        "content": content,
        "stop_reason": say.finish or ("tool_use" if say.calls else "end_turn"),
        "stop_sequence": None,
    }
    if say.usage:
        made["usage"] = anthropic_usage(say.usage)
    return made


def anthropic_usage(usage: tuple[int, int]) -> dict[str, Any]:
    return {
        "input_tokens": usage[0] - 3,
        "cache_read_input_tokens": 3,
        "output_tokens": usage[1],
    }


def anthropic_events(say: Say) -> list[bytes]:
    first = anthropic_document(Say(usage=None))
    first["stop_reason"] = None
    first["usage"] = {**anthropic_usage(say.usage), "output_tokens": 1} if say.usage else {}
    made = [named("message_start", message=first), named("ping")]
    index = 0
    if say.text:
        block: dict[str, Any] = {"type": "text", "text": ""}
        made.append(named("content_block_start", index=index, content_block=block))
        for part in pieces(say.text):
            delta = {"type": "text_delta", "text": part}
            made.append(named("content_block_delta", index=index, delta=delta))
        made.append(named("content_block_stop", index=index))
        index += 1
    for identity, name, arguments in say.calls:
        block = {"type": "tool_use", "id": identity, "name": name, "input": {}}
        made.append(named("content_block_start", index=index, content_block=block))
        for part in ["", *pieces(json.dumps(arguments))]:
            delta = {"type": "input_json_delta", "partial_json": part}
            made.append(named("content_block_delta", index=index, delta=delta))
        made.append(named("content_block_stop", index=index))
        index += 1
    reason = say.finish or ("tool_use" if say.calls else "end_turn")
    usage = {"output_tokens": say.usage[1]} if say.usage else {}
    end = {"stop_reason": reason, "stop_sequence": None}
    return [*made, named("message_delta", delta=end, usage=usage), named("message_stop")]


def named(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\n".encode() + sse({"type": kind, **more})


def sse(document: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def pieces(text: str) -> list[str]:
    """A text in pieces of seven characters."""
    return [text[i : i + 7] for i in range(0, len(text), 7)]
