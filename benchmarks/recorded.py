"""What becomes of a recorded run: replayed through the real loop, drawn as a page."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import policies
from benchmarks.row import Row
from harness.agent import Agent
from harness.budget import Budget
from harness.bus import Events
from harness.event import RunEnd, RunStart
from harness.message import ToolCall
from harness.model import Reply
from harness.models.scripted import ScriptedModel
from harness.record import EventLog, read_events
from harness.replay import replay
from harness.report import write_report
from harness.tools import builtin_tools
from policies import Budgets
from runners import ScriptedSession

CONTENT = "a line of a file that somebody reads\n" * 20
EVENTS_A_STEP = 7


async def record(folder: Path, events: int) -> Path:
    """A run folder with so many events, made by the real loop over a scripted session."""
    folder.mkdir()
    steps = events // EVENTS_A_STEP
    policy = policies.load("python-dev")
    session = ScriptedSession(files={f"a{n}.py": CONTENT for n in range(steps)})
    replies = [
        Reply(f"step {n}", (ToolCall(f"c{n}", "read_file", f'{{"path": "a{n}.py"}}'),))
        for n in range(steps)
    ]
    with EventLog.create(folder / "events.jsonl", run="bench") as log:
        bus = Events(run="bench", log=log)
        budgets = {"steps": 10**6, "tool_calls": 10**6, "wall_seconds": 10**6}
        bus.emit(RunStart({"kind": "run", "task": "bench", "budgets": budgets}))
        agent = Agent(
            ScriptedModel([*replies, Reply("done")]),
            tools=builtin_tools(session, policy),
            policy=policy,
            session=session,
            events=bus,
            enclosed=True,
            repeat_guard=False,
            budget=Budget.of(Budgets(10**6, 10**6, 1e6)),
        )
        await agent.run("read")
        bus.emit(RunEnd("completed"))
    return folder


async def replayed(folder: Path) -> float:
    """Milliseconds for a thousand events: reading the log, the loop, the comparison."""
    policy = policies.load("python-dev")
    best = float("inf")
    for _ in range(15):
        start = time.process_time()  # pure computing: what others do meanwhile is left out
        records = list(read_events(folder / "events.jsonl"))
        found = await replay(records, policy)
        took = time.process_time() - start
        assert found.same, found.differences[0].text()
        best = min(best, took / len(records))
    return best * 1e6


def drawn(folder: Path) -> float:
    """Seconds to write the page."""
    return best_of(lambda: write_report(folder))


def best_of(work: Callable[[], object]) -> float:
    """Seconds of the quickest of five."""
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def main() -> list[Row]:
    """Replay and report."""
    with tempfile.TemporaryDirectory() as name:
        small = asyncio.run(record(Path(name) / "small", 1000))
        large = asyncio.run(record(Path(name) / "large", 5000))
        again = asyncio.run(replayed(small))
        page = drawn(large)
    return [
        Row("replay 1,000 events", f"{again:.1f} ms", "at most 30 ms", again <= 30),
        Row("report of 5,000 events", f"{page:.2f} s", "at most 1 s", page <= 1),
    ]
