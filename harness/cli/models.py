"""``stockade models``: what works at a model."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict

import click

from harness.cli.options import json_option, print_json
from harness.cli.terminal import inline, put

__all__ = ["models"]

MARK = {"yes": "works", "no": "does not", "unknown": "not seen"}


@click.group()
def models() -> None:
    """Look at the models that are configured."""


@models.command("check")
@click.argument("spec", required=False)
@json_option
def check(spec: str | None, *, as_json: bool) -> int:
    """Make one small call and say what works: tools, streaming, parallel calls, usage.

    SPEC is openai:NAME, anthropic:NAME or a name of the configuration; without it the
    configuration's model is taken, else the environment's. Exit 0 when tools work, 1 when they do
    not, 7 when the model did not answer.
    """
    from harness.config import load_config
    from harness.errors import ConfigError
    from harness.models.check import Finding, check_model
    from harness.models.choice import make_model, model_from_environment

    config = load_config()
    named = spec or config.model or model_from_environment(os.environ)
    if named is None:
        raise ConfigError(
            "no model is configured: name one (openai:NAME, anthropic:NAME), "
            "or set OPENAI_API_KEY, OPENAI_BASE_URL or their ANTHROPIC_ twins"
        )
    model = make_model(named, environ=os.environ, config=config.models)

    async def run() -> list[Finding]:
        try:
            return await check_model(model)
        finally:
            close = getattr(model, "aclose", None)
            if close is not None:
                await close()

    findings = asyncio.run(run())
    if as_json:
        print_json({"model": named, "findings": [asdict(finding) for finding in findings]})
    else:
        for one in findings:
            put(inline(f"{one.name:15} {MARK[one.works]:9} {one.detail}"))
    return int(any(one.name == "tools" and one.works == "no" for one in findings))
