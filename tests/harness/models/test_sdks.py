"""The provider of these tests is right: the official SDKs understand it too."""

from __future__ import annotations

import json

import pytest

from tests.harness.models.provider import Say, provider

CALLS = [("c1", "echo", {"text": "hello, world"}), ("c2", "add", {"a": 1, "b": [2, 3]})]
SAY = Say("some text", CALLS)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_the_openai_sdk_reads_the_same_answer(stream: bool) -> None:
    openai = pytest.importorskip("openai", reason="the openai SDK: make setup-peers")
    async with (
        provider(SAY) as server,
        openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client,
    ):
        ask = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
        if stream:
            async with client.chat.completions.stream(**ask) as streaming:
                answer = await streaming.get_final_completion()
        else:
            answer = await client.chat.completions.create(**ask)
    message = answer.choices[0].message
    calls = [(c.id, c.function.name, json.loads(c.function.arguments)) for c in message.tool_calls]
    assert (message.content, calls, answer.choices[0].finish_reason) == (
        "some text",
        CALLS,
        "tool_calls",
    )


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_the_anthropic_sdk_reads_the_same_answer(stream: bool) -> None:
    anthropic = pytest.importorskip("anthropic", reason="the anthropic SDK: make setup-peers")
    async with provider(SAY) as server:
        base = server.url.removesuffix("/v1")
        async with anthropic.AsyncAnthropic(base_url=base, api_key="k", max_retries=0) as client:
            ask = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
            if stream:
                async with client.messages.stream(**ask) as streaming:
                    answer = await streaming.get_final_message()
            else:
                answer = await client.messages.create(**ask)
    text = [block.text for block in answer.content if block.type == "text"]
    calls = [(b.id, b.name, b.input) for b in answer.content if b.type == "tool_use"]
    assert (text, calls, answer.stop_reason, answer.usage.output_tokens) == (
        ["some text"],
        CALLS,
        "tool_use",
        7,
    )
