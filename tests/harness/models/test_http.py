"""Models behind HTTP, against a real server on loopback that can misbehave."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from harness.errors import ModelError
from harness.message import Assistant, System, ToolCall, ToolMessage, User
from harness.model import Attempt, ModelRequest, Reply, ToolDefinition, Usage
from harness.models.anthropic import AnthropicDialect
from harness.models.chunk import Chunk, Finish, TextDelta, UsageReport
from harness.models.http import Bounds, Dialect, HttpModel, Price
from harness.models.openai import OpenAIDialect
from harness.signal import Signal
from tests.harness.models.provider import Fault, Say, provider

KEY = "key-of-the-test-1234"
CALLS = [("c1", "echo", {"text": "hello, world"}), ("c2", "add", {"a": 1, "b": [2, 3]})]
QUICK = Bounds(total_seconds=20, first_wait_seconds=0.001, longest_wait_seconds=0.002)
DIALECTS = {"openai": OpenAIDialect, "anthropic": AnthropicDialect}
FORMS = [(name, stream) for name in DIALECTS for stream in (True, False)]
ids = [f"{name}-{'streamed' if stream else 'whole'}" for name, stream in FORMS]
every_form = pytest.mark.parametrize(("name", "stream"), FORMS, ids=ids)


def model(name: str, url: str, *, stream: bool = True, **more: Any) -> HttpModel:
    dialect: Dialect = DIALECTS[name]()
    bounds = more.pop("bounds", QUICK)
    return HttpModel(dialect, base=url, model="m", key=KEY, stream=stream, bounds=bounds, **more)


def request(**more: Any) -> ModelRequest:
    messages = (
        System("be good"),
        User("say it"),
        Assistant("I will", (ToolCall("c0", "echo", '{"text": "x"}'),)),
        ToolMessage("c0", "echo", "x"),
    )
    tools = (ToolDefinition("echo", "says it again", {"type": "object", "properties": {}}),)
    return ModelRequest(messages, tools, more.pop("signal", Signal()), **more)


async def ask(name: str, script: list[Say | Fault], *, stream: bool, **more: Any) -> Reply:
    async with provider(*script) as server, model(name, server.url, stream=stream) as it:
        return await it.generate(request(**more))


@every_form
async def test_an_answer_with_text_and_calls_arrives_whole(name: str, stream: bool) -> None:
    reply = await ask(name, [Say("some text", CALLS)], stream=stream)
    assert reply == Reply(
        "some text",
        tuple(ToolCall(i, n, json.dumps(a)) for i, n, a in CALLS),
        Usage(11, 7, 3),
        (),
        "test-model",
    )


@every_form
@pytest.mark.req("S-186")
async def test_usage_that_is_not_reported_is_absent(name: str, stream: bool) -> None:
    reply = await ask(name, [Say("text", usage=None)], stream=stream)
    assert reply.usage in (None, Usage())


RETRIED = {
    "no answer": Fault("drop"),
    "408": Fault("status", 408),
    "409": Fault("status", 409),
    "429": Fault("status", 429, {"Retry-After": "0"}),
    "500": Fault("status", 500),
    "503": Fault("status", 503, {}, b"<html><body><h1>Down</h1></body></html>"),
    "529": Fault("status", 529),
    "error in a 200": Fault(
        "error200", body=b'{"type": "error", "error": {"type": "overloaded_error", "message": "m"}}'
    ),
    "html in a 200": Fault("raw", headers={"Content-Type": "text/html"}, body=b"<p>hello</p>"),
}


@every_form
@pytest.mark.parametrize("fault", RETRIED.values(), ids=RETRIED)
async def test_a_fault_that_may_pass_is_tried_again(name: str, stream: bool, fault: Fault) -> None:
    attempts: list[Attempt] = []
    reply = await ask(
        name, [fault, fault, Say("at last")], stream=stream, on_attempt=attempts.append
    )
    assert (reply.text, [a.ok for a in attempts]) == ("at last", [False, False, True])


@pytest.mark.parametrize("name", DIALECTS)
async def test_a_cut_stream_is_tried_again_while_nothing_was_passed_on(name: str) -> None:
    cut = Fault("cut", say=Say("a long text that is cut in the middle", CALLS))
    reply = await ask(name, [cut, Say("whole")], stream=True)
    assert (reply.text, reply.calls) == ("whole", ())


@pytest.mark.parametrize("name", DIALECTS)
async def test_a_cut_stream_is_an_error_once_content_was_passed_on(name: str) -> None:
    cut = Fault("cut", say=Say("a long text that is cut in the middle", CALLS))
    with pytest.raises(ModelError, match=r"broke the protocol|ended before"):
        await ask(name, [cut, Say("whole")], stream=True, on_chunk=lambda _: None)


@every_form
async def test_the_servers_words_are_in_the_error_and_the_key_is_not(
    name: str, stream: bool
) -> None:
    body = json.dumps({"error": {"message": f"the key {KEY} is not good"}}).encode()
    with pytest.raises(ModelError) as caught:
        await ask(name, [Fault("status", 401, {}, body)], stream=stream)
    assert (caught.value.status, str(caught.value)) == (
        401,
        f"{name}:m: the server answered 401: the key [key] is not good",
    )


@every_form
@pytest.mark.req("S-195")
async def test_an_error_that_stays_is_raised_after_one_try(name: str, stream: bool) -> None:
    async with provider(Fault("status", 400), Say("no")) as server:
        async with model(name, server.url, stream=stream) as it:
            with pytest.raises(ModelError, match="400: try again"):
                await it.generate(request())
        assert len(server.requests) == 1


async def test_the_wait_that_the_server_asks_for_is_reported() -> None:
    attempts: list[Attempt] = []
    fault = Fault("status", 429, {"Retry-After-Ms": "30"})
    await ask("openai", [fault, Say("x")], stream=True, on_attempt=attempts.append)
    assert attempts[0] == Attempt(
        1, "openai:m", False, "the server answered 429: try again", 429, 0.03
    )


async def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    with pytest.raises(ModelError, match="429"):
        await ask("openai", [Fault("status", 429, {"Retry-After": "3600"}), Say("x")], stream=True)


@pytest.mark.parametrize("kind", ["hang", "drip"])
async def test_a_server_that_never_ends_is_left_at_the_deadline(kind: str) -> None:
    bounds = Bounds(total_seconds=0.3, attempts=1)
    async with provider(Fault(kind)) as server:
        async with model("openai", server.url, bounds=bounds) as it:
            with pytest.raises(ModelError, match=r"no whole answer within 0\.3 seconds"):
                await it.generate(request())
        await asyncio.wait_for(server.closed.wait(), 5)


async def test_an_endless_answer_is_left_at_the_size_limit() -> None:
    bounds = Bounds(max_bytes=2 << 20, attempts=1)
    async with provider(Fault("flood")) as server:
        async with model("anthropic", server.url, bounds=bounds) as it:
            with pytest.raises(ModelError, match="over 2097152 bytes"):
                await it.generate(request())
        await asyncio.wait_for(server.closed.wait(), 5)


async def test_a_cancelled_signal_closes_the_connection_within_200_ms() -> None:
    signal = Signal()
    async with provider(Fault("drip")) as server, model("openai", server.url) as it:
        asking = asyncio.ensure_future(it.generate(request(signal=signal)))
        while not server.requests:
            await asyncio.sleep(0.005)
        started = time.monotonic()
        signal.cancel()
        with pytest.raises(ModelError, match="cancelled"):
            await asking
        await asyncio.wait_for(server.closed.wait(), 5)
        assert time.monotonic() - started < 0.2


async def test_a_cancelled_task_stays_cancelled() -> None:
    async with provider(Fault("hang")) as server, model("openai", server.url) as it:
        asking = asyncio.ensure_future(it.generate(request()))
        while not server.requests:
            await asyncio.sleep(0.005)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking


@pytest.mark.req("S-194", "S-23", "S-207")
async def test_the_openai_request_is_what_the_protocol_asks_for() -> None:
    async with provider(Say("x")) as server:
        async with model("openai", server.url, stream=False) as it:
            await it.generate(request())
        path, headers, body = server.requests[0]
    assert (path, headers["authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    call = {
        "id": "c0",
        "type": "function",
        "function": {"name": "echo", "arguments": '{"text": "x"}'},
    }
    assert body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "be good"},
            {"role": "user", "content": "say it"},
            {"role": "assistant", "content": "I will", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c0", "content": "x"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "echo",
                    "description": "says it again",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
        "tool_choice": "auto",
        "stream": False,
    }


async def test_the_anthropic_request_is_what_the_protocol_asks_for() -> None:
    async with provider(Say("x")) as server:
        async with model("anthropic", server.url, stream=False, max_tokens=100) as it:
            await it.generate(request())
        path, headers, body = server.requests[0]
    assert (path, headers["x-api-key"], headers["anthropic-version"]) == (
        "/v1/messages",
        KEY,
        "2023-06-01",
    )
    assert body == {
        "model": "m",
        "max_tokens": 100,
        "system": "be good",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "say it"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I will"},
                    {"type": "tool_use", "id": "c0", "name": "echo", "input": {"text": "x"}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c0", "content": "x"}],
            },
        ],
        "tools": [
            {
                "name": "echo",
                "description": "says it again",
                "input_schema": {"type": "object", "properties": {}},
            }
        ],
        "tool_choice": {"type": "auto"},
        "stream": False,
    }


@pytest.mark.req("S-24")
async def test_without_tools_the_request_has_no_tools_field() -> None:
    async with provider(Say("x")) as server, model("openai", server.url) as it:
        await it.generate(ModelRequest((User("hi"),), (), Signal()))
        assert {"tools", "tool_choice"} & set(server.requests[0][2]) == set()


async def test_cost_comes_from_the_given_prices_and_the_reported_usage() -> None:
    say, price = Say("x", usage=(1_000_003, 2_000_000)), Price(2.0, 10.0, 0.0)
    async with provider(say) as server, model("openai", server.url, price=price) as it:
        reply = await it.generate(request())
    assert reply.usage == Usage(1_000_003, 2_000_000, 3, 22.0)


async def test_a_redirect_is_not_followed() -> None:
    fault = Fault("status", 307, {"Location": "http://127.0.0.1:1/"}, b"")
    with pytest.raises(ModelError, match="redirects are not followed"):
        await ask("openai", [fault], stream=True)


async def test_no_server_is_an_error_that_says_so() -> None:
    bounds = Bounds(attempts=2, first_wait_seconds=0.001)
    async with model("openai", "http://127.0.0.1:9/v1", bounds=bounds) as it:
        with pytest.raises(ModelError, match="no connection"):
            await it.generate(request())


def test_the_key_is_not_in_the_repr_of_a_model() -> None:
    assert KEY not in repr(model("openai", "http://127.0.0.1:9"))


@pytest.mark.req("S-204")
@pytest.mark.parametrize("name", DIALECTS)
async def test_a_model_that_is_not_to_stream_asks_for_a_whole_answer(name: str) -> None:
    async with provider(Say("x")) as server, model(name, server.url, stream=False) as it:
        await it.generate(request())
        assert server.requests[0][2]["stream"] is False


@pytest.mark.req("S-205")
@pytest.mark.parametrize("name", DIALECTS)
async def test_a_streamed_answer_is_passed_on_chunk_by_chunk(name: str) -> None:
    chunks: list[Chunk] = []
    reply = await ask(name, [Say("some longer text")], stream=True, on_chunk=chunks.append)
    texts = [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)]
    assert (len(texts) > 1, "".join(texts), reply.text) == (
        True,
        "some longer text",
        "some longer text",
    )
    assert isinstance(chunks[-1], Finish | UsageReport)
