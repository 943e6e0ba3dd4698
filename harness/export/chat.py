"""OpenAI chat messages, and mini-swe-agent's trajectory on top of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.models.openai import to_wire
from harness.recall import Recollection

__all__ = ["messages", "mini_trajectory"]

MINI_FORMAT = "mini-swe-agent-1.1"


def messages(run: Recollection) -> list[dict[str, Any]]:
    """The conversation as the chat completions protocol has it; always a valid one."""
    return to_wire(run.messages)


def mini_trajectory(run: Recollection, result: Mapping[str, Any], patch: str) -> dict[str, Any]:
    """What mini-swe-agent writes: `info` with statistics, and messages with `extra`."""
    by_call = {call.id: call for step in run.steps for call in step.calls}
    made: list[dict[str, Any]] = []
    for message in messages(run):
        call = by_call.get(str(message.get("tool_call_id", "")))
        extra: dict[str, Any] = {}
        if call is not None and call.code is not None:
            extra["returncode"] = call.code
        made.append({**message, "extra": extra})
    usages = [(step.reply or {}).get("usage") or {} for step in run.steps]
    costs = [usage["cost"] for usage in usages if usage.get("cost") is not None]
    stats: dict[str, Any] = {"api_calls": sum(step.reply is not None for step in run.steps)}
    if costs:
        stats["instance_cost"] = sum(costs)
    return {
        "info": {
            "model_stats": stats,
            "config": {"agent": {}, "model": {"model_name": str(run.start.get("model", ""))}},
            "exit_status": str(result.get("status", "unfinished")),
            "submission": patch,
        },
        "messages": made,
        "trajectory_format": MINI_FORMAT,
    }
