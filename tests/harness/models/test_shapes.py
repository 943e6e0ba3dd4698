"""Every recorded shape is read as documented, over real HTTP."""

from __future__ import annotations

import pytest

from harness.errors import ModelError
from harness.message import Assistant, Reasoning, System, ToolCall, ToolMessage, User
from harness.model import ModelRequest
from harness.models import anthropic, openai
from harness.models.http import Bounds, Dialect, HttpModel
from harness.signal import Signal
from tests.harness.models.provider import Fault, provider
from tests.harness.models.shapes import SHAPES, Shape

DIALECTS = {"openai": openai.OpenAIDialect, "anthropic": anthropic.AnthropicDialect}


@pytest.mark.parametrize("shape", SHAPES, ids=[shape.name for shape in SHAPES])
async def test_a_shape_is_read_as_documented(shape: Shape) -> None:
    kind = "text/event-stream" if shape.stream else "application/json"
    fault = Fault("raw", headers={"Content-Type": kind}, body=shape.body)
    dialect: Dialect = DIALECTS[shape.protocol]()
    async with provider(fault) as server:
        bounds = Bounds(attempts=1)
        async with HttpModel(dialect, base=server.url, model="m", bounds=bounds) as model:
            request = ModelRequest((User("x"),), (), Signal())
            if isinstance(shape.read, str):
                with pytest.raises(ModelError, match=shape.read):
                    await model.generate(request)
            else:
                assert await model.generate(request) == shape.read


def test_there_are_at_least_sixty_shapes_with_names_of_their_own() -> None:
    assert len({shape.name for shape in SHAPES}) == len(SHAPES) >= 60


CONVERSATION = [
    System("be good"),
    User("do it"),
    Assistant("first", (ToolCall("a", "f", '{"x": 1}'), ToolCall("b", "g", "{}"))),
    ToolMessage("a", "f", "one"),
    ToolMessage("b", "g", "two"),
    Assistant("done"),
]


@pytest.mark.req("S-207")
def test_a_conversation_goes_to_openai_and_back_unchanged() -> None:
    assert openai.from_wire(openai.to_wire(CONVERSATION)) == CONVERSATION


def test_a_conversation_goes_to_anthropic_and_back_unchanged() -> None:
    assert anthropic.from_wire(*anthropic.to_wire(CONVERSATION)) == CONVERSATION


def test_thinking_goes_back_to_its_own_provider_only() -> None:
    thought = Assistant("hi", (), (Reasoning("hm", "sig", "anthropic"),))
    wires = (openai.to_wire([thought]), anthropic.to_wire([thought])[1])
    assert wires == (
        [{"role": "assistant", "content": "hi"}],
        [
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "sig"},
                    {"type": "text", "text": "hi"},
                ],
            }
        ],
    )


def test_arguments_that_are_no_object_go_to_anthropic_marked_and_come_back_raw() -> None:
    said = [User("x"), Assistant("", (ToolCall("a", "f", "{oops"),)), ToolMessage("a", "f", "no")]
    assert anthropic.from_wire(*anthropic.to_wire(said)) == said
