"""What works at a model: one small request that asks for two tool calls at once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from harness.message import System, User
from harness.model import Attempt, Model, ModelRequest, Reply, ToolDefinition
from harness.models.chunk import CallDelta, Chunk, TextDelta
from harness.signal import Signal

__all__ = ["Finding", "check_model"]

Works = Literal["yes", "no", "unknown"]

WEATHER = ToolDefinition(
    "weather",
    "Tells the weather of one city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
QUESTION = (
    "Call the tool `weather` twice in this one answer: once for Oslo and once for Lima. "
    "Do not write any text."
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    works: Works
    detail: str


async def check_model(model: Model) -> list[Finding]:
    """Ask once and say what the answer shows; a ModelError goes to the caller."""
    chunks: list[Chunk] = []
    attempts: list[Attempt] = []
    request = ModelRequest(
        (System("You test a program. Do exactly as asked."), User(QUESTION)),
        (WEATHER,),
        Signal(),
        chunks.append,
        attempts.append,
    )
    reply = await model.generate(request)
    return [
        _answer(reply, attempts),
        _streaming(chunks),
        _tools(reply),
        _parallel(reply),
        _usage(reply),
        _form(reply),
    ]


def _answer(reply: Reply, attempts: list[Attempt]) -> Finding:
    named = f" by {reply.model}" if reply.model else ""
    tries = f" after {len(attempts)} attempts" if len(attempts) > 1 else ""
    return Finding("answer", "yes", f"answered{named}{tries}")


def _streaming(chunks: list[Chunk]) -> Finding:
    pieces = sum(isinstance(chunk, TextDelta | CallDelta) for chunk in chunks)
    if pieces > 2:
        return Finding("streaming", "yes", f"the answer came in {pieces} pieces")
    return Finding("streaming", "unknown", f"the answer came in {pieces} pieces")


def _tools(reply: Reply) -> Finding:
    if not reply.calls:
        return Finding("tools", "no", "no tool was called, though the request asked for it")
    for call in reply.calls:
        fault = _fault(call.name, call.arguments)
        if fault:
            return Finding("tools", "no", fault)
    return Finding("tools", "yes", "tools are called with arguments that fit")


def _fault(name: str, arguments: str) -> str:
    if name != WEATHER.name:
        return f"a tool {name!r} was called that was not offered"
    try:
        given = json.loads(arguments)
    except ValueError:
        return f"the arguments are no JSON: {arguments[:80]!r}"
    fits = isinstance(given, dict) and isinstance(given.get("city"), str)
    return "" if fits else f"the arguments do not fit the schema: {arguments[:80]!r}"


def _parallel(reply: Reply) -> Finding:
    count = len(reply.calls)
    works: Works = "yes" if count > 1 else "no" if count else "unknown"
    return Finding("parallel calls", works, f"{count} calls in one answer")


def _usage(reply: Reply) -> Finding:
    reported = reply.usage.reported() if reply.usage is not None else {}
    if not reported:
        return Finding("usage", "no", "no usage is reported: token budgets cannot be kept")
    return Finding("usage", "yes", ", ".join(f"{key} {value}" for key, value in reported.items()))


def _form(reply: Reply) -> Finding:
    if reply.repairs:
        return Finding("wire form", "no", "mended: " + "; ".join(reply.repairs))
    return Finding("wire form", "yes", "nothing had to be mended")
