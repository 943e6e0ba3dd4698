"""ATIF v1.8, the trajectory format of Harbor (its models forbid unknown keys)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from harness.message import Message, System, User
from harness.recall import RecalledCall, RecalledStep, Recollection

__all__ = ["atif"]


def atif(run: Recollection, result: Mapping[str, Any]) -> dict[str, Any]:
    """The trajectory. What the provider did not report is absent."""
    steps: list[dict[str, Any]] = []
    for one in run.steps:
        steps += [_said(message, one.at) for message in one.before]
        if one.reply is not None:
            steps.append(_answered(one))
    if not steps:
        steps = [{"source": "system", "message": "nothing was asked in this run"}]
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    agent: dict[str, Any] = {"name": "stockade", "version": _version()}
    model = run.start.get("model")
    if model:
        agent["model_name"] = str(model)
    if run.tools:
        agent["tool_definitions"] = [{"type": "function", "function": dict(t)} for t in run.tools]
    made: dict[str, Any] = {
        "schema_version": "ATIF-v1.8",
        "session_id": run.run,
        "agent": agent,
        "steps": numbered,
        "final_metrics": _totals(run),
    }
    keep = {k: result[k] for k in ("status", "verdict", "reward", "exit_code") if k in result}
    if keep:
        made["extra"] = {"stockade": keep}
    return made


def _said(message: Message, at: str) -> dict[str, Any]:
    step: dict[str, Any] = {"source": "system" if isinstance(message, System) else "user"}
    if at:
        step["timestamp"] = at
    text = message.text if isinstance(message, System | User) else str(message)
    step["message"] = _clean(text)
    if isinstance(message, User) and message.origin == "context":
        step["extra"] = {"origin": "context"}
    return step


def _answered(one: RecalledStep) -> dict[str, Any]:
    assert one.reply is not None
    step: dict[str, Any] = {"source": "agent", "message": _clean(str(one.reply.get("text", "")))}
    if one.replied_at:
        step["timestamp"] = one.replied_at
    if one.reply.get("model"):
        step["model_name"] = str(one.reply["model"])
    thought = "\n".join(str(r.get("text", "")) for r in one.reply.get("reasoning") or ())
    if thought.strip():
        step["reasoning_content"] = _clean(thought)
    if one.calls:
        step["tool_calls"] = [_call(call) for call in one.calls]
        results = [_result(call) for call in one.calls if call.result is not None]
        if results:
            step["observation"] = {"results": results}
    metrics = _metrics(one.reply.get("usage") or {})
    if metrics:
        step["metrics"] = metrics
    step["llm_call_count"] = 1
    return step


def _call(call: RecalledCall) -> dict[str, Any]:
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = None
    made: dict[str, Any] = {"tool_call_id": call.id, "function_name": _clean(call.name)}
    if isinstance(arguments, dict):
        return {**made, "arguments": _cleaned(arguments)}
    return {**made, "arguments": {}, "extra": {"raw_arguments": _clean(call.arguments)}}


def _result(call: RecalledCall) -> dict[str, Any]:
    made: dict[str, Any] = {"source_call_id": call.id, "content": _clean(call.content)}
    extra: dict[str, Any] = {"ok": call.ok}
    if call.verdict is not None:
        keys = ("decision", "reason", "rule")
        extra["verdict"] = {k: call.verdict[k] for k in keys if call.verdict.get(k) is not None}
    return {**made, "extra": extra}


_NAMES = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "cached_tokens": "cached_tokens",
    "cost": "cost_usd",
}


def _metrics(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {theirs: usage[ours] for ours, theirs in _NAMES.items() if usage.get(ours) is not None}


def _totals(run: Recollection) -> dict[str, Any]:
    totals: dict[str, Any] = {"total_steps": len(run.steps)}
    for ours, theirs in _NAMES.items():
        reported = [
            step.reply["usage"][ours]
            for step in run.steps
            if step.reply and (step.reply.get("usage") or {}).get(ours) is not None
        ]
        if reported:
            totals[f"total_{theirs}"] = sum(reported)
    return totals


def _clean(text: str) -> str:
    """Lone surrogates as visible escapes: strict readers refuse them."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _cleaned(value: object) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, dict):
        return {_clean(str(k)): _cleaned(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value


def _version() -> str:
    try:
        return version("stockade-harness")
    except PackageNotFoundError:
        return "unknown"
