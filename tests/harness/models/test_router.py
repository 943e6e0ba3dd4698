"""Which model answers, and what happens when it does not."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from harness.errors import ConfigError, ModelError
from harness.message import User
from harness.model import ModelRequest, Reply
from harness.models.router import Router, Routes
from harness.signal import Signal


@dataclass
class Named:
    """A model that says its name, fails, or waits."""

    name: str
    fails: bool = False
    gate: asyncio.Event | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    passes: bool = False

    async def generate(self, request: ModelRequest, /) -> Reply:
        self.begun.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.passes and request.on_chunk is not None:
            request.on_chunk("content")
        if self.fails:
            raise ModelError(f"{self.name} is down")
        return Reply(self.name)


def request(**more: object) -> ModelRequest:
    return ModelRequest((User("x"),), (), Signal(), **more)  # type: ignore[arg-type]


MODELS = {"a": Named("a"), "b": Named("b"), "down": Named("down", fails=True)}


@pytest.mark.req("S-206")
@pytest.mark.parametrize(
    ("chain", "task", "explicit", "answer"),
    [
        (["a", "b"], "", "", "a"),
        (["a", "b"], "", "b", "b"),
        (["a"], "plan", "", "b"),
        (["down", "b"], "", "", "b"),
        (["unregistered", "b"], "", "", "b"),
    ],
    ids=["first of the chain", "explicit", "by task", "fallback", "unknown names are skipped"],
)
async def test_the_rule_names_the_model(
    chain: list[str], task: str, explicit: str, answer: str
) -> None:
    routes = Routes(MODELS, chain, {"plan": ["b"]})
    router = Router(routes, task=task, explicit=explicit)
    assert (await router.generate(request())).text == answer


async def test_when_all_fail_the_error_names_each() -> None:
    models = {"x": Named("x", fails=True), "y": Named("y", fails=True)}
    with pytest.raises(ModelError, match=r"x: x is down; y: y is down"):
        await Router(Routes(models, ["x", "y"])).generate(request())


async def test_no_other_model_is_asked_once_content_was_passed_on() -> None:
    models = {"x": Named("x", fails=True, passes=True), "b": Named("b")}
    with pytest.raises(ModelError, match="x is down"):
        await Router(Routes(models, ["x", "b"])).generate(request(on_chunk=lambda _: None))


async def test_a_request_under_way_keeps_the_routes_it_began_with() -> None:
    gate = asyncio.Event()
    slow = Named("slow", gate=gate)
    router = Router(Routes({"slow": slow}, ["slow"]))
    asking = asyncio.ensure_future(router.generate(request()))
    await slow.begun.wait()
    router.reconfigure(Routes(MODELS, ["b"]))
    later = await router.generate(request())
    gate.set()
    assert ((await asking).text, later.text) == ("slow", "b")


def test_a_chain_without_a_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="no model of the chain"):
        Router(Routes(MODELS, ["nobody"]))
