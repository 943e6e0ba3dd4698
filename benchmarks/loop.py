"""A step of the loop: scripted model, in-process echo, whole pipeline, policy and log on."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
import tracemalloc
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
RUNS = 4  # the first and the last steps of one run are seconds apart, and others work meanwhile
TARGET_MICROSECONDS = 150.0
TARGET_GROWTH = 1.2
TARGET_MEMORY = 3.0
clock = time.perf_counter


def echo(arguments: dict[str, str], _: Execution) -> str:
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
    inline=True,
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


def run() -> tuple[Clocked, Agent]:
    """One whole run; what it leaves behind."""
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
    return model, agent


def times() -> list[float]:
    """When each step of one run began."""
    return run()[0].times


def memory() -> tuple[int, int]:
    """Bytes that a run took at its peak, and bytes of its transcript, counted by tracemalloc.

    The model's notes of times are not the run's; its calls are the transcript's.
    """
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        model, agent = run()
        peak = tracemalloc.get_traced_memory()[1] - before
        notes = sys.getsizeof(model.times) + sum(map(sys.getsizeof, model.times))
    finally:
        tracemalloc.stop()
    return peak - notes, deep(list(agent.transcript), set())


def deep(part: object, seen: set[int]) -> int:
    """Bytes of an object with what it holds, each counted once."""
    if id(part) in seen:
        return 0
    seen.add(id(part))
    size = sys.getsizeof(part)
    if isinstance(part, tuple | list):
        return size + sum(deep(one, seen) for one in part)
    names = getattr(type(part), "__slots__", ())
    return size + sum(deep(getattr(part, name), seen) for name in names)


def best(window: list[float], size: int = 4) -> float:
    """Microseconds a step in the quietest stretch: short ones, that no other process cuts up."""
    spans = [(window[i + size] - window[i]) / size for i in range(0, len(window) - size, size)]
    return min(spans) * 1e6


def main() -> list[Row]:
    """The time of a step, and how it grows from the first steps to the last."""
    runs = [times() for _ in range(RUNS)]
    early = min(best(taken[10 : 10 + WINDOW]) for taken in runs)
    late = min(best(taken[-WINDOW:]) for taken in runs)
    growth = late / early
    taken_bytes, transcript = memory()
    share = taken_bytes / transcript
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
        Row(
            f"memory of a run of {STEPS:,} steps beside its transcript",
            f"{share:.2f}x ({taken_bytes / 1e6:.1f} MB)",
            f"at most {TARGET_MEMORY:g}x",
            share <= TARGET_MEMORY,
        ),
    ]
