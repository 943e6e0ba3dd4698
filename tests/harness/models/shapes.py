"""Answers as providers and compatible servers really shape them, and what each is read as.

Facts from the public SDK fixtures and issue threads of OpenAI, Anthropic, Ollama, vLLM, llama.cpp
and gateways; all wording is our own. A shape is a whole document or a list of stream events; what
it is read as is a Reply, or a pattern of the error.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from harness.message import Reasoning, ToolCall
from harness.model import Reply, Usage


@dataclass(frozen=True)
class Shape:
    name: str
    protocol: str
    body: bytes
    stream: bool
    read: Reply | str


def _reply(
    text: str = "",
    *calls: tuple[str, str, str],
    usage: Usage | None = None,
    repairs: tuple[str, ...] = (),
    model: str = "",
    reasoning: tuple[Reasoning, ...] = (),
    cut: bool = False,
) -> Reply:
    made = tuple(ToolCall(*call) for call in calls)
    return Reply(text, made, usage, repairs, model, reasoning, cut)


# --- OpenAI, whole -------------------------------------------------------------------------------


def _whole(message: dict[str, Any], finish: object = "stop", **more: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return json.dumps({"choices": [choice], **more}).encode()


def _call(
    identity: object = "c1", name: object = "f", arguments: object = "{}", **more: Any
) -> Any:
    call = {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {k: v for k, v in {**call, **more}.items() if v is not ...}


NULL = "null content read as empty text"
OPENAI: list[tuple[str, bytes, Reply | str]] = [
    ("plain text", _whole({"content": "hi"}), _reply("hi")),
    ("empty text", _whole({"content": ""}), _reply("")),
    ("null content", _whole({"content": None}), _reply(repairs=(NULL,))),
    ("no content field", _whole({}), _reply(repairs=(NULL,))),
    (
        "text in parts",
        _whole({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
        _reply("ab"),
    ),
    (
        "an image part",
        _whole({"content": [{"type": "image_url"}]}),
        r"'image_url' \(images and the like\) is not supported",
    ),
    ("a refusal", _whole({"content": None, "refusal": "no"}), _reply("no", repairs=(NULL,))),
    (
        "one call",
        _whole({"content": "", "tool_calls": [_call()]}, "tool_calls"),
        _reply("", ("c1", "f", "{}")),
    ),
    (
        "a call and null content",
        _whole({"content": None, "tool_calls": [_call()]}, "tool_calls"),
        _reply("", ("c1", "f", "{}"), repairs=(NULL,)),
    ),
    (
        "empty arguments",
        _whole({"content": "", "tool_calls": [_call(arguments="")]}),
        _reply("", ("c1", "f", "")),
    ),
    (
        "null arguments",
        _whole({"content": "", "tool_calls": [_call(arguments=None)]}),
        _reply("", ("c1", "f", "")),
    ),
    (
        "arguments as an object",
        _whole({"content": "", "tool_calls": [_call(arguments={"a": 1})]}),
        _reply("", ("c1", "f", '{"a": 1}'), repairs=("arguments of f as dict, not text",)),
    ),
    (
        "arguments that are no JSON",
        _whole({"content": "", "tool_calls": [_call(arguments="{a:")]}),
        _reply("", ("c1", "f", "{a:")),
    ),
    (
        "a missing id",
        _whole({"content": "", "tool_calls": [_call(identity=...)]}),
        _reply("", ("call-1", "f", "{}"), repairs=("call 1 (f) had no id",)),
    ),
    (
        "an empty id",
        _whole({"content": "", "tool_calls": [_call(identity="")]}),
        _reply("", ("call-1", "f", "{}"), repairs=("call 1 (f) had no id",)),
    ),
    (
        "a null id",
        _whole({"content": "", "tool_calls": [_call(identity=None)]}),
        _reply("", ("call-1", "f", "{}"), repairs=("call 1 (f) had no id",)),
    ),
    (
        "a repeated id",
        _whole({"content": "", "tool_calls": [_call(), _call(name="g")]}),
        _reply(
            "", ("c1", "f", "{}"), ("c1-2", "g", "{}"), repairs=("call 2 (g) repeated the id 'c1'",)
        ),
    ),
    (
        "finish stop with calls",
        _whole({"content": "", "tool_calls": [_call()]}, "stop"),
        _reply("", ("c1", "f", "{}")),
    ),
    ("finish tool_calls without calls", _whole({"content": "hi"}, "tool_calls"), _reply("hi")),
    ("a null finish", _whole({"content": "hi"}, None), _reply("hi")),
    ("null calls", _whole({"content": "hi", "tool_calls": None}), _reply("hi")),
    ("an empty list of calls", _whole({"content": "hi", "tool_calls": []}), _reply("hi")),
    (
        "calls that are no list",
        _whole({"content": "", "tool_calls": {"id": "c"}}),
        "tool calls of the answer are no list",
    ),
    (
        "a call that is no object",
        _whole({"content": "", "tool_calls": ["f"]}),
        "tool call of the answer is no object",
    ),
    (
        "cut in a call",
        _whole({"content": "so", "tool_calls": [_call(arguments='{"a": "b')]}, "length"),
        _reply(
            "so", cut=True, repairs=("the answer was cut at the length limit: 1 calls dropped",)
        ),
    ),
    ("cut in the text", _whole({"content": "so far"}, "length"), _reply("so far", cut=True)),
    ("withheld", _whole({"content": ""}, "content_filter"), _reply("")),
    (
        "usage",
        _whole({"content": "hi"}, usage={"prompt_tokens": 5, "completion_tokens": 2}),
        _reply("hi", usage=Usage(5, 2)),
    ),
    ("null usage", _whole({"content": "hi"}, usage=None), _reply("hi")),
    (
        "usage in part",
        _whole({"content": "hi"}, usage={"prompt_tokens": 5}),
        _reply("hi", usage=Usage(5)),
    ),
    (
        "reasoning_content",
        _whole({"content": "hi", "reasoning_content": "hm"}),
        _reply("hi", reasoning=(Reasoning("hm", "", "openai:reasoning_content"),)),
    ),
    (
        "reasoning",
        _whole({"content": "hi", "reasoning": "hm"}),
        _reply("hi", reasoning=(Reasoning("hm", "", "openai:reasoning"),)),
    ),
    (
        "an error in a 200",
        b'{"error": {"message": "no such model", "code": 404}}',
        r"error \(404\): no such model",
    ),
    ("an error text in a 200", b'{"error": "broken"}', "error: broken"),
    ("no choices", b'{"choices": []}', "no choices"),
    ("no message", b'{"choices": [{"index": 0}]}', "no message"),
    ("a list", b"[]", "no JSON object but list"),
    (
        "unknown fields",
        _whole({"content": "hi", "audio": None, "annotations": []}, service_tier="x"),
        _reply("hi"),
    ),
]

# --- OpenAI, streamed ----------------------------------------------------------------------------


def _delta(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> Any:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def _events(*events: Any, done: bool = True) -> bytes:
    lines = [e if isinstance(e, str) else f"data: {json.dumps(e)}" for e in events]
    return "\n\n".join([*lines, *(["data: [DONE]"] if done else []), ""]).encode()


def _part(
    index: object, identity: object = ..., name: object = ..., arguments: object = ...
) -> Any:
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not ...}
    call = {"index": index, "id": identity, "function": function}
    return _delta({"tool_calls": [{k: v for k, v in call.items() if v is not ...}]})


STOP, END = _delta({}, "stop"), _delta({}, "tool_calls")
OPENAI_STREAMED: list[tuple[str, bytes, Reply | str]] = [
    (
        "text",
        _events(
            _delta({"role": "assistant", "content": ""}),
            _delta({"content": "h"}),
            _delta({"content": "i"}),
            STOP,
        ),
        _reply("hi"),
    ),
    ("no [DONE]", _events(_delta({"content": "hi"}), STOP, done=False), _reply("hi")),
    (
        "usage in the last chunk",
        _events(
            _delta({"content": "hi"}),
            STOP,
            {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}},
        ),
        _reply("hi", usage=Usage(3, 1)),
    ),
    (
        "usage in every chunk",
        _events(
            _delta({"content": "hi"}, usage={"prompt_tokens": 3, "completion_tokens": 1}),
            _delta({}, "stop", usage={"prompt_tokens": 3, "completion_tokens": 2}),
        ),
        _reply("hi", usage=Usage(3, 2)),
    ),
    (
        "null usage until the end",
        _events(_delta({"content": "hi"}, usage=None), _delta({}, "stop", usage=None)),
        _reply("hi"),
    ),
    (
        "keep-alive comments",
        _events(": ping", _delta({"content": "hi"}), ": ping", STOP),
        _reply("hi"),
    ),
    ("CRLF lines", _events(_delta({"content": "hi"}), STOP).replace(b"\n", b"\r\n"), _reply("hi")),
    ("a null delta", _events(_delta({"content": "hi"}), _delta(None, "stop")), _reply("hi")),
    (
        "one call in pieces",
        _events(
            _part(0, "c1", "f", ""), _part(0, arguments='{"a":'), _part(0, arguments="1}"), END
        ),
        _reply("", ("c1", "f", '{"a":1}')),
    ),
    (
        "interleaved calls",
        _events(
            _part(0, "c1", "f", ""),
            _part(1, "c2", "g", ""),
            _part(0, arguments="{}"),
            _part(1, arguments="[]"),
            END,
        ),
        _reply("", ("c1", "f", "{}"), ("c2", "g", "[]")),
    ),
    (
        "gaps in the index",
        _events(_part(2, "c1", "f", "{}"), _part(7, "c2", "g", "{}"), END),
        _reply("", ("c1", "f", "{}"), ("c2", "g", "{}")),
    ),
    (
        "no index, whole calls",
        _events(_delta({"tool_calls": [_call("c1"), _call("c2", "g")]}), END),
        _reply("", ("c1", "f", "{}"), ("c2", "g", "{}")),
    ),
    (
        "no index, one call an event",
        _events(
            _delta({"tool_calls": [_call("c1")]}), _delta({"tool_calls": [_call("c2", "g")]}), END
        ),
        _reply("", ("c1", "f", "{}"), ("c2", "g", "{}")),
    ),
    (
        "index 0 for every call",
        _events(_part(0, "c1", "f", "{}"), _part(0, "c2", "g", "{}"), END),
        _reply("", ("c1", "f", "{}"), ("c2", "g", "{}"), repairs=("index 0 stands for two calls",)),
    ),
    (
        "id and name in every piece",
        _events(_part(0, "c1", "f", '{"a":'), _part(0, "c1", "f", "1}"), END),
        _reply("", ("c1", "f", '{"a":1}')),
    ),
    (
        "null id and name later",
        _events(_part(0, "c1", "f", '{"a":'), _part(0, None, None, "1}"), END),
        _reply("", ("c1", "f", '{"a":1}')),
    ),
    (
        "no ids at all",
        _events(_part(0, name="f", arguments="{}"), _part(1, name="g", arguments="{}"), END),
        _reply(
            "",
            ("call-1", "f", "{}"),
            ("call-2", "g", "{}"),
            repairs=("call 1 (f) had no id", "call 2 (g) had no id"),
        ),
    ),
    (
        "arguments as an object",
        _events(_part(0, "c1", "f", {"a": 1}), END),
        _reply("", ("c1", "f", '{"a": 1}'), repairs=("arguments of f as dict, not text",)),
    ),
    (
        "finish stop with calls",
        _events(_part(0, "c1", "f", "{}"), STOP),
        _reply("", ("c1", "f", "{}")),
    ),
    (
        "cut in a call",
        _events(_part(0, "c1", "f", '{"a'), _delta({}, "length")),
        _reply("", cut=True, repairs=("the answer was cut at the length limit: 1 calls dropped",)),
    ),
    (
        "an error event",
        _events(
            _delta({"content": "h"}), {"error": {"message": "overloaded", "type": "server_error"}}
        ),
        r"error \(500\): overloaded",
    ),
    (
        "reasoning pieces",
        _events(
            _delta({"reasoning_content": "h"}),
            _delta({"reasoning_content": "m"}),
            _delta({"content": "hi"}),
            STOP,
        ),
        _reply("hi", reasoning=(Reasoning("hm", "", "openai:reasoning_content"),)),
    ),
    (
        "a second choice",
        _events(
            {"choices": [{"index": 1, "delta": {"content": "no"}}]}, _delta({"content": "hi"}), STOP
        ),
        _reply("hi"),
    ),
    (
        "no finish at all",
        _events(_delta({"content": "hi"}), done=False),
        "ended before the answer was whole",
    ),
    ("nothing", b"", "ended before the answer was whole"),
    ("an event that is no JSON", _events("data: {oops", STOP), "no JSON"),
]

# --- Anthropic, whole ----------------------------------------------------------------------------


def _message(*content: Any, stop: str | None = "end_turn", **more: Any) -> bytes:
    return json.dumps(
        {"type": "message", "content": list(content), "stop_reason": stop, **more}
    ).encode()


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _use(identity: str = "t1", name: str = "f", given: object = None) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": identity,
        "name": name,
        "input": given if given is not None else {},
    }


ANTHROPIC: list[tuple[str, bytes, Reply | str]] = [
    ("text", _message(_text("hi")), _reply("hi")),
    ("several texts", _message(_text("a"), _text("b")), _reply("ab")),
    ("no content", _message(), _reply("")),
    ("null content", b'{"content": null}', _reply("", repairs=(NULL,))),
    (
        "content as text",
        b'{"content": "hi"}',
        _reply("hi", repairs=("content as text, not as blocks",)),
    ),
    (
        "text and a call",
        _message(_text("so"), _use(given={"a": 1}), stop="tool_use"),
        _reply("so", ("t1", "f", '{"a": 1}')),
    ),
    (
        "an input as text",
        _message(_use(given='{"a": 1}')),
        _reply("", ("t1", "f", '{"a": 1}'), repairs=("input of f as text, not as an object",)),
    ),
    (
        "cut in a call",
        _message(_text("so"), _use(), stop="max_tokens"),
        _reply(
            "so", cut=True, repairs=("the answer was cut at the length limit: 1 calls dropped",)
        ),
    ),
    (
        "thinking",
        _message({"type": "thinking", "thinking": "hm", "signature": "s"}, _text("hi")),
        _reply("hi", reasoning=(Reasoning("hm", "s", "anthropic"),)),
    ),
    (
        "redacted thinking",
        _message({"type": "redacted_thinking", "data": "d"}, _text("hi")),
        _reply("hi", reasoning=(Reasoning("", "", "anthropic", "d"),)),
    ),
    (
        "usage with a cache",
        _message(
            _text("hi"),
            usage={
                "input_tokens": 2,
                "cache_read_input_tokens": 3,
                "cache_creation_input_tokens": 4,
                "output_tokens": 1,
            },
        ),
        _reply("hi", usage=Usage(9, 1, 3)),
    ),
    ("an image", _message({"type": "image"}), "'image' is not supported"),
    (
        "an error in a 200",
        b'{"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}',
        r"error \(529\): busy",
    ),
]

# --- Anthropic, streamed -------------------------------------------------------------------------


def _named(kind: str, **more: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}"


def _block(index: int, block: dict[str, Any], *deltas: dict[str, Any]) -> list[str]:
    made = [_named("content_block_start", index=index, content_block=block)]
    made += [_named("content_block_delta", index=index, delta=delta) for delta in deltas]
    return [*made, _named("content_block_stop", index=index)]


def _stream(*blocks: list[str], stop: str | None = "end_turn", last: bool = True) -> bytes:
    start = _named(
        "message_start", message={"model": "m", "usage": {"input_tokens": 4, "output_tokens": 1}}
    )
    delta = _named("message_delta", delta={"stop_reason": stop}, usage={"output_tokens": 9})
    end = [delta, _named("message_stop")] if last else []
    flat = [event for block in blocks for event in block]
    return _events(start, _named("ping"), *flat, *end, done=False)


def _json(part: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": part}


USED = Usage(4, 9)
ANTHROPIC_STREAMED: list[tuple[str, bytes, Reply | str]] = [
    (
        "text",
        _stream(_block(0, _text(""), {"type": "text_delta", "text": "hi"})),
        _reply("hi", usage=USED, model="m"),
    ),
    (
        "a call",
        _stream(_block(0, _use(), _json(""), _json('{"a"'), _json(": 1}")), stop="tool_use"),
        _reply("", ("t1", "f", '{"a": 1}'), usage=USED, model="m"),
    ),
    (
        "a call without arguments",
        _stream(_block(0, _use()), stop="tool_use"),
        _reply("", ("t1", "f", ""), usage=USED, model="m"),
    ),
    (
        "arguments in the start",
        _stream(_block(0, _use(given={"a": 1})), stop="tool_use"),
        _reply(
            "",
            ("t1", "f", '{"a": 1}'),
            usage=USED,
            model="m",
            repairs=("arguments in the start of a block",),
        ),
    ),
    (
        "thinking with a signature",
        _stream(
            _block(
                0,
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "thinking_delta", "thinking": "hm"},
                {"type": "signature_delta", "signature": "s"},
            ),
            _block(1, _text(""), {"type": "text_delta", "text": "hi"}),
        ),
        _reply("hi", usage=USED, model="m", reasoning=(Reasoning("hm", "s", "anthropic"),)),
    ),
    (
        "cut in a call",
        _stream(_block(0, _use(), _json('{"a')), stop="max_tokens"),
        _reply(
            "",
            usage=USED,
            model="m",
            cut=True,
            repairs=("the answer was cut at the length limit: 1 calls dropped",),
        ),
    ),
    (
        "an unknown event",
        _stream([_named("new_thing", x=1)], _block(0, _text("hi"))),
        _reply("hi", usage=USED, model="m"),
    ),
    (
        "an unknown delta",
        _stream(_block(0, _text("hi"), {"type": "new_delta"})),
        _reply("hi", usage=USED, model="m"),
    ),
    (
        "an error event",
        _stream([_named("error", error={"type": "overloaded_error", "message": "busy"})]),
        r"error \(529\): busy",
    ),
    (
        "a cut stream",
        _stream(_block(0, _text("hi")), last=False),
        "ended before the answer was whole",
    ),
    (
        "a lying stop reason",
        _stream(_block(0, _use(), _json("{}")), stop="end_turn"),
        _reply("", ("t1", "f", "{}"), usage=USED, model="m"),
    ),
]


def _shapes() -> list[Shape]:
    made: list[Shape] = []
    for protocol, stream, rows in (
        ("openai", False, OPENAI),
        ("openai", True, OPENAI_STREAMED),
        ("anthropic", False, ANTHROPIC),
        ("anthropic", True, ANTHROPIC_STREAMED),
    ):
        form = "streamed" if stream else "whole"
        made += [Shape(f"{protocol}-{form}-{n}", protocol, b, stream, r) for n, b, r in rows]
    return made


SHAPES = _shapes()
