"""The reference scenarios: whole runs on a script, from the first request to the last event."""

from __future__ import annotations

import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.budget import Budget
from harness.event import Event
from harness.message import Assistant, ToolMessage
from harness.signal import Signal
from harness.tool import Tool
from harness.tools import builtin_tools
from runners import ScriptedSession
from tests.harness.doubles import TableJudge, agent_of, asks, says, tool_of

ROOT = Path(harness.__file__).parents[1]


def results(messages: Any) -> list[ToolMessage]:
    return [message for message in messages if isinstance(message, ToolMessage)]


@pytest.mark.req("S-235")
async def test_a_greeting_and_an_end() -> None:
    greet = tool_of("greet", lambda a, _: f"Hello, {a['text']}!", inline=True)
    agent = agent_of(asks(("greet", {"text": "Ann"})), says("I greeted Ann."), tools=[greet])
    result = await agent.run("Greet Ann.")
    assert (result.status, result.answer) == ("completed", "I greeted Ann.")
    assert results(result.messages) == [ToolMessage("c1", "greet", "Hello, Ann!", is_error=False)]
    agent.model.assert_consumed()


@pytest.mark.req("S-236")
@pytest.mark.parametrize(
    ("scenario", "status", "steps", "content"),
    [
        ("unknown tool", "completed", 2, "Unknown tool: 'fly' is no tool here (available: work)"),
        ("invalid arguments", "completed", 2, "Invalid arguments: work: $.text: must be a string"),
        ("tool raising", "completed", 2, "Failed: work: no more paper"),
        ("step limit", "step_limit", 1, "done"),
        ("tool budget", "tool_limit", 1, "Over budget: work: not executed"),
        ("cancellation", "aborted", 1, "Cancelled: work: the run was cancelled while it ran"),
    ],
)
async def test_six_ways_a_run_can_go(scenario: str, status: str, steps: int, content: str) -> None:
    signal = Signal()

    async def work(arguments: dict[str, Any], _: Any) -> str:
        if scenario == "tool raising":
            raise RuntimeError("no more paper")
        if scenario == "cancellation":
            signal.cancel()
        return "done"

    first = {
        "unknown tool": asks(("fly", {})),
        "invalid arguments": asks(("work", {"text": 3})),
        "tool budget": asks(("work", {}), ("work", {})),
    }.get(scenario, asks(("work", {})))
    budget = Budget(
        steps=1 if scenario == "step limit" else 5,
        tool_calls=1 if scenario == "tool budget" else 5,
    )
    agent = agent_of(
        first, says("end"), tools=[tool_of("work", work)], budget=budget, signal=signal
    )
    result = await agent.run("go")
    assert (result.status, result.steps) == (status, steps)
    assert results(result.messages)[-1].content.startswith(content)


@pytest.mark.req("S-237")
async def test_a_good_read_a_wrongly_typed_read_and_an_end() -> None:
    judge = TableJudge(tools={"read_file": "allow"})
    session = ScriptedSession(files={"notes.txt": "remember the milk"})
    reads: list[str] = []
    read = session.read_file

    async def counted(path: str, **more: Any) -> Any:
        reads.append(path)
        return await read(path, **more)

    session.read_file = counted  # type: ignore[method-assign]
    agent = agent_of(
        asks(("read_file", {"path": "notes.txt"})),
        asks(("read_file", {"path": 42})),
        asks(("finish", {"answer": "milk"})),
        tools=builtin_tools(session, judge),
        policy=judge,
    )
    result = await agent.run("What do my notes say?")
    good, bad, _ = results(result.messages)
    assert (good.content, good.is_error) == ("remember the milk", False)
    assert bad.content == ("Invalid arguments: read_file: $.path: must be a string, not an integer")
    assert (reads, result.status, result.answer) == (["notes.txt"], "completed", "milk")


def echo_tool() -> Tool:
    """Say it back, one to ten times."""

    def execute(arguments: dict[str, Any], _: Any) -> str:
        return arguments["text"] * min(max(arguments.get("times", 1), 1), 10)

    return Tool(
        name="echo",
        description="Say a text back.",
        parameters={
            "type": "object",
            "properties": {"text": {"type": "string"}, "times": {"type": "integer"}},
            "required": ["text"],
        },
        execute=execute,
        inline=True,
    )


@pytest.mark.req("S-239")
@pytest.mark.parametrize(("times", "said"), [(None, 1), (-5, 1), (0, 1), (3, 3), (99, 10)])
async def test_echo_gives_the_text_back_unchanged(times: int | None, said: int) -> None:
    text = " Grüße,\n\t{{x}} "
    given = {"text": text} if times is None else {"text": text, "times": times}
    agent = agent_of(asks(("echo", given)), says("ok"), tools=[echo_tool()])
    result = await agent.run("go")
    assert results(result.messages)[0].content == text * said


@pytest.mark.req("S-151", "S-240")
async def test_one_full_round_is_visible() -> None:
    """Think, call, execute, write back, sum up; a line for each tool with ok or error."""
    lines: list[str] = []

    def show(event: Event) -> None:
        payload: Any = event.payload
        if event.type == "model/reply":
            lines.append(f"model: {payload.text or 'calls ' + payload.calls[0]['name']}")
        elif event.type == "tool/result":
            lines.append(f"{payload.name}: {'ok' if payload.ok else 'error'}")

    agent = agent_of(
        asks(("echo", {"text": "hi"})),
        asks(("echo", {})),
        says("It said hi."),
        tools=[echo_tool()],
    )
    agent.events.subscribe(show)
    result = await agent.run("Say hi.")
    assert lines == [
        "model: calls echo",
        "echo: ok",
        "model: calls echo",
        "echo: error",
        "model: It said hi.",
    ]
    assert [type(m) for m in result.messages][1:3] == [Assistant, ToolMessage]


@pytest.mark.req("S-191")
def test_messages_and_the_model_contract_know_no_provider() -> None:
    words = ("openai", "anthropic", "choices", "chat/completions", "tool_use", "httpx")
    for name in ("message.py", "model.py", "loop.py", "context.py", "agent.py"):
        text = (ROOT / "harness" / name).read_text().lower()
        assert [word for word in words if word in text] == [], name


CORE_RUN = """
import asyncio, sys
sys.path.insert(0, {root!r})
from harness.agent import Agent
from harness.message import ToolCall
from harness.model import Reply
from harness.models.scripted import ScriptedModel
from harness.tool import Tool
echo = Tool(name="echo", description="Echo.", parameters={{"type": "object"}},
            execute=lambda a, _: a["text"], inline=True)
model = ScriptedModel([Reply("", (ToolCall("c1", "echo", '{{"text": "hi"}}'),)), Reply("bye")])
result = asyncio.run(Agent(model, tools=[echo]).run("go"))
print(result.answer, result.messages[2].content)
"""


@pytest.mark.req("S-199")
def test_the_core_runs_on_the_standard_library_alone() -> None:
    program = CORE_RUN.format(root=str(ROOT))
    argv = [sys.executable, "-I", "-S", "-c", program]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("bye hi", "")


@pytest.mark.req("S-203")
def test_no_test_here_can_reach_beyond_this_machine() -> None:
    with (
        socket.socket() as far,
        pytest.raises(AssertionError, match=r"tried to reach 192\.0\.2\.1"),
    ):
        far.connect(("192.0.2.1", 80))


@pytest.mark.req("S-241")
@pytest.mark.parametrize("target", ["type", "test", "demo"])
def test_type_check_tests_and_demo_are_one_command_each(target: str) -> None:
    lines = (ROOT / "Makefile").read_text().splitlines()
    assert any(line.startswith(f"{target}:") for line in lines)
    assert "API_KEY" not in (ROOT / "Makefile").read_text()


@pytest.mark.req("S-243")
def test_the_tests_need_few_packages_to_run() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    runner = [
        need.partition(">")[0]
        for need in project["project"]["optional-dependencies"]["dev"]
        if need.startswith("pytest")
    ]
    assert runner == ["pytest", "pytest-asyncio", "pytest-timeout", "pytest-xdist"]
