"""A real run of the loop, in process, whose log the tests read back."""

from __future__ import annotations

from pathlib import Path

from harness.agent import Agent
from harness.bus import Events
from harness.message import Message, ToolCall
from harness.model import Reply, Usage
from harness.models.scripted import ScriptedModel
from harness.record import EventLog
from harness.tool import define_tool

REPLIES = [
    Reply("I try", (ToolCall("a", "echo", '{"text": "one"}'), ToolCall("b", "echo", "{oops"))),
    Reply("again", (ToolCall("c", "missing", "{}"), ToolCall("d", "boom", "{}")), Usage(10, 2)),
    Reply("all done", (), Usage(20, 4, 5, 0.25)),
]


@define_tool
def echo(text: str) -> str:
    """Says it again, word for word."""
    return text


@define_tool
def boom() -> str:
    """Always fails, whatever it is given."""
    raise ValueError("out of order: \ud800")


async def converse(folder: Path) -> list[Message]:
    """Run the script, leave `events.jsonl` in the folder, give the loop's own messages."""
    log = EventLog.create(folder / "events.jsonl", run="run-1")
    model = ScriptedModel(REPLIES)
    events = Events(run="run-1", log=log)
    agent = Agent(model, tools=[echo, boom], events=events, system="be good")
    result = await agent.run("do it")
    log.close()
    return list(result.messages)
