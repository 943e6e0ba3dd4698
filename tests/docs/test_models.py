"""What docs/models.md says is so."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from harness.models.anthropic import AnthropicDialect
from harness.models.choice import make_model
from harness.models.fault import RETRYABLE
from harness.models.http import HttpModel
from harness.models.openai import OpenAIDialect
from harness.models.router import Router
from harness.models.scripted import ScriptedModel

TEXT = (Path(__file__).parents[2] / "docs" / "models.md").read_text("utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None
    return found.group(1)


def test_the_configuration_of_the_page_makes_its_models() -> None:
    config = tomllib.loads(block("toml"))
    environ = {"MY_ANTHROPIC_KEY": "k"}
    made = [make_model(n, environ=environ, config=config["models"]) for n in ("local", "big")]
    both = make_model(config["model"], environ=environ, config=config["models"])
    assert [isinstance(model, HttpModel) for model in made] == [True, True]
    assert isinstance(both, Router)


def test_the_defaults_of_the_page_are_those_of_the_code() -> None:
    for dialect in (OpenAIDialect(), AnthropicDialect()):
        assert f"`{dialect.default_base}`" in TEXT
        assert f"`{dialect.default_model}`" in TEXT


def test_the_statuses_of_the_page_are_those_of_the_code() -> None:
    sentence = TEXT.split("the statuses ")[1].split(" are tried again")[0]
    assert {int(n) for n in re.findall(r"\d+", sentence)} == RETRYABLE


def test_the_script_of_the_page_is_one(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(block("json"))
    assert ScriptedModel.load(path).left == len(json.loads(block("json"))["replies"])
