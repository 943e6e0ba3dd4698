"""A plugin: a tool, a guard, a prompt section and a metric. Unloading it leaves nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from harness.hook import CallInfo
from harness.plugin import HOOKS, PROMPT, TOOLS, Context, Plugin
from harness.result import ToolResult
from harness.tool import define_tool


@define_tool(tier="read-only", inline=True)
def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


def setup(context: Context, config: Mapping[str, Any]) -> None:
    calls: Counter[str] = config["calls"]

    def guard(call: CallInfo) -> str | None:
        return "the text is too long" if len(call.raw) > config.get("most", 10_000) else None

    def metric(call: CallInfo, result: ToolResult) -> None:
        calls[f"{call.name} {'ok' if result.ok else 'error'}"] += 1

    context.tool(count_words)
    context.guard(guard)
    context.section("words", "Count words with count_words, never in your head.", order=110)
    context.observe(metric)


plugin = Plugin("word-count", setup, needs=(TOOLS, HOOKS, PROMPT))
