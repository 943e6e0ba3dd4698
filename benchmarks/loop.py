"""A step of the loop: scripted model, in-process echo, whole pipeline, policy and log on."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

import policies
from benchmarks.row import Row
from harness.agent import Agent
from harness.budget import Budget
from harness.bus import Events
from harness.message import ToolCall
from harness.model import ModelRequest, Reply
from harness.record import EventLog
from harness.tool import Execution, Tool

POLICY = 'schema = 1\nname = "echo"\n[tools]\nallow = ["echo"]\n'
STEPS = 10_000
WINDOW = 1000
TARGET_MICROSECONDS = 150.0
TARGET_GROWTH = 1.2
clock = time.perf_counter


async def echo(arguments: dict[str, str], _: Execution) -> str:
    return arguments["text"]


TOOL = Tool(
    name="echo",
    description="Say a text back.",
    parameters={
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    },
    execute=echo,
)


class Clocked:
    """A model that calls echo, and notes when it is asked."""

    def __init__(self, steps: int) -> None:
        self.times: list[float] = []
        self._left = steps

    async def generate(self, _: ModelRequest, /) -> Reply:
        self.times.append(clock())
        self._left -= 1
        if self._left < 0:
            return Reply("done")
        return Reply("", (ToolCall(f"c{self._left}", "echo", '{"text":"hello"}'),))


def times() -> list[float]:
    """When each step of one run began."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "echo.toml"
        source.write_text(POLICY)
        with EventLog.create(Path(folder) / "events.jsonl", run="bench") as log:
            model = Clocked(STEPS)
            agent = Agent(
                model,
                tools=[TOOL],
                policy=policies.load(source),
                events=Events(run="bench", log=log),
                budget=Budget(steps=STEPS + 1, tool_calls=STEPS + 1),
                repeat_guard=True,
            )
            asyncio.run(agent.run("go"))
    return model.times


def best(window: list[float], size: int = 4) -> float:
    """Microseconds a step in the quietest stretch: short ones, that no other process cuts up."""
    spans = [(window[i + size] - window[i]) / size for i in range(0, len(window) - size, size)]
    return min(spans) * 1e6


def main() -> list[Row]:
    """The time of a step, and how it grows from the first steps to the last."""
    taken = times()
    early, late = best(taken[10 : 10 + WINDOW]), best(taken[-WINDOW:])
    growth = late / early
    return [
        Row(
            "a step of the loop, policy and log on",
            f"{early:.0f} us",
            f"at most {TARGET_MICROSECONDS:g} us",
            early <= TARGET_MICROSECONDS,
        ),
        Row(
            f"a step at {STEPS:,} beside one at 10",
            f"{growth:.2f}x",
            f"at most {TARGET_GROWTH:g}x",
            growth <= TARGET_GROWTH,
        ),
    ]
