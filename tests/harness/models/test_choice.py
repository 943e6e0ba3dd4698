"""From what the operator writes to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.errors import ConfigError
from harness.message import User
from harness.model import ModelRequest
from harness.models.choice import make_model, model_from_environment
from harness.models.http import HttpModel
from harness.models.router import Router
from harness.models.scripted import ScriptedModel
from harness.signal import Signal
from tests.harness.models.provider import Say, provider


@pytest.mark.req("S-196", "S-200")
@pytest.mark.parametrize("name", ["openai", "anthropic"])
async def test_the_environment_alone_names_the_endpoint(name: str) -> None:
    async with provider(Say("hello")) as server:
        upper = name.upper()
        environ = {
            f"{upper}_BASE_URL": server.url,
            f"{upper}_API_KEY": "k",
            f"{upper}_MODEL": "the-model",
        }
        spec = model_from_environment(environ)
        assert spec == f"{name}:the-model"
        model = make_model(spec, environ=environ)
        assert isinstance(model, HttpModel)
        async with model:
            reply = await model.generate(ModelRequest((User("x"),), (), Signal()))
        assert (reply.text, server.requests[0][2]["model"]) == ("hello", "the-model")


@pytest.mark.req("S-197")
def test_parts_that_are_left_out_have_documented_defaults() -> None:
    model = make_model("openai:", environ={"OPENAI_API_KEY": "k"})
    assert isinstance(model, HttpModel)
    assert model.name == "openai:gpt-4.1-mini"


def test_without_a_key_and_a_base_the_environment_names_no_model() -> None:
    assert model_from_environment({"OPENAI_MODEL": "m", "PATH": "/bin"}) is None


def test_a_script_is_a_model(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"schema": 1, "replies": []}')
    assert isinstance(make_model(f"scripted:{script}", environ={}), ScriptedModel)


def test_a_chain_of_the_configuration_is_a_router() -> None:
    config = {
        "fast": {"provider": "openai", "model": "f", "base_url": "http://127.0.0.1:9"},
        "good": {"provider": "anthropic", "model": "g", "base_url": "http://127.0.0.1:9"},
        "both": {"chain": ["fast", "good"]},
    }
    model = make_model("both", environ={}, config=config)
    assert isinstance(model, Router)
    assert model.name == "router:fast,good"


BAD: dict[str, tuple[str, dict[str, Any], str]] = {
    "no such form": ("nothing", {}, "'nothing' names no model: write openai:NAME"),
    "no key": ("openai:m", {}, "no key: set OPENAI_API_KEY, or OPENAI_BASE_URL"),
    "unknown key": ("m", {"m": {"modle": "x"}}, r"\[models\.m\]: unknown key 'modle'"),
    "wrong type": ("m", {"m": {"stream": "yes"}}, "stream must be a bool, not 'yes'"),
    "not positive": ("m", {"m": {"attempts": 0}}, "attempts must be positive"),
    "unknown provider": ("m", {"m": {"provider": "x"}}, "unknown provider 'x'"),
    "one price": (
        "m",
        {"m": {"price_input": 1.0, "base_url": "http://127.0.0.1:9"}},
        "price_input needs its twin",
    ),
    "a loop": ("m", {"m": {"chain": ["m"]}}, "leads back to itself"),
}


@pytest.mark.parametrize(("spec", "config", "says"), BAD.values(), ids=BAD)
def test_what_cannot_be_used_is_named(spec: str, config: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        make_model(spec, environ={}, config=config)
