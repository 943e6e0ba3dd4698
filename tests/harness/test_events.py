"""What a run says of itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import harness
from harness.bus import Events, current_call, current_step
from harness.event import Event, Notice
from harness.hook import Deny
from harness.model import Usage
from harness.record import TYPES
from harness.trace import Tracer
from tests.harness.doubles import Recorder, agent_of, asks, call, reply, says, tool_of


@pytest.mark.req("S-181", "S-184")
async def test_a_timeline_can_be_made_from_the_events_of_a_run() -> None:
    agent = agent_of(asks(("echo", {"text": "a"}), ("none", {})), says("ok"), tools=[tool_of()])
    seen = Recorder(agent.events)
    await agent.run("go")
    assert [(e.type, e.step, e.call) for e in seen.events] == [
        ("run/start", 0, None),
        ("step/start", 1, None),
        ("model/request", 1, None),
        ("model/reply", 1, None),
        ("tool/call", 1, "c1"),
        ("tool/call", 1, "c2"),
        ("tool/result", 1, "c1"),
        ("tool/result", 1, "c2"),
        ("step/end", 1, None),
        ("step/start", 2, None),
        ("model/request", 2, None),
        ("model/reply", 2, None),
        ("step/end", 2, None),
        ("run/end", 0, None),
    ]
    times = [event.t for event in seen.events]
    assert times == sorted(times)


@pytest.mark.req("S-182")
async def test_an_event_has_its_step_tool_duration_and_status() -> None:
    agent = agent_of(asks(("echo", {})), says("ok"), tools=[tool_of()])
    seen = Recorder(agent.events)
    await agent.run("go")
    [event] = [e for e in seen.events if e.type == "tool/result"]
    assert (event.step, event.payload.name, event.payload.ok) == (1, "echo", True)
    assert event.payload.duration_seconds >= 0
    assert [p.status for p in seen.of("step/end")] == [None, "completed"]


@pytest.mark.req("S-183")
def test_no_tool_prints_or_logs_by_itself() -> None:
    folder = Path(harness.__file__).parent
    for source in [*folder.glob("*.py"), *folder.glob("tools/*.py"), *folder.glob("pipeline/*.py")]:
        text = source.read_text()
        assert "print(" not in text, source
        assert "import logging" not in text, source


@pytest.mark.req("S-185")
async def test_reported_usage_is_passed_through() -> None:
    usage = Usage(input_tokens=12, output_tokens=3)
    agent = agent_of(
        reply(call("echo"), usage=usage), reply(text="ok", usage=usage), tools=[tool_of()]
    )
    seen = Recorder(agent.events)
    result = await agent.run("go")
    assert [p.usage for p in seen.of("model/reply")] == [
        {"input_tokens": 12, "output_tokens": 3}
    ] * 2
    assert (result.spent.input_tokens, result.spent.output_tokens) == (24, 6)


@pytest.mark.req("S-186")
async def test_usage_that_was_not_reported_is_absent() -> None:
    agent = agent_of(says("ok"))
    seen = Recorder(agent.events)
    result = await agent.run("go")
    assert [p.usage for p in seen.of("model/reply")] == [None]
    assert result.spent.to_dict().keys() == {"steps", "tool_calls", "wall_seconds", "per_tool"}


@pytest.mark.req("S-187", "S-188")
async def test_subsystems_subscribe_to_one_typed_channel() -> None:
    agent = agent_of(asks(("echo", {})), says("ok"), tools=[tool_of()])
    lines: list[str] = []

    def printer(event: Event) -> None:
        if event.type == "tool/result":
            lines.append(f"{event.payload.name} {'ok' if event.payload.ok else 'error'}")

    dispose = agent.events.subscribe(printer)
    await agent.run("go")
    dispose()
    dispose()
    assert lines == ["echo ok"]


def test_every_payload_has_a_type_of_the_schema() -> None:
    from typing import get_args

    from harness.event import Payload

    assert {payload.type.fget(None) for payload in get_args(Payload)} == TYPES


async def test_a_subscriber_that_raises_harms_nobody() -> None:
    agent = agent_of(says("ok"))

    def broken(_: Event) -> None:
        raise RuntimeError("observer")

    agent.events.subscribe(broken)
    seen = Recorder(agent.events)
    assert (await agent.run("go")).answer == "ok"
    assert agent.events.failures == len(seen.events)


@pytest.mark.parametrize("plain", [True, False])
async def test_a_body_knows_its_step_and_its_call(plain: bool) -> None:
    events = Events()
    seen: list[object] = []

    def say(*_: object) -> str:
        seen.append((current_step.get(), current_call.get()))
        return "x"

    async def say_later(*_: object) -> str:
        events.emit(Notice("progress", "half way"))
        return say()

    tool = tool_of("f", say if plain else say_later)
    recorder = Recorder(events)
    await agent_of(asks(("f", {})), says("ok"), tools=[tool], events=events).run("go")
    said = [(e.step, e.call) for e in recorder.events if e.type == "notice"]
    assert seen == [(1, "c1")]
    assert said == ([] if plain else [(1, "c1")])


@pytest.mark.req("S-190")
async def test_spans_show_what_took_how_long_inside_what() -> None:
    agent = agent_of(asks(("echo", {}), ("none", {})), says("ok"), tools=[tool_of()])
    tracer = Tracer()
    agent.events.subscribe(tracer)
    await agent.run("go")
    [run] = tracer.runs
    assert [[part.name for part in step.parts] for step in run.parts] == [
        ["model", "echo", "none"],
        ["model"],
    ]
    assert [part.ok for part in run.parts[0].parts] == [None, True, False]
    spans = [run, *run.parts, *[p for step in run.parts for p in step.parts]]
    assert all(span.seconds is not None and span.seconds >= 0 for span in spans)


async def test_a_run_that_is_denied_something_says_so() -> None:
    async def no(*_: object) -> Deny:
        return Deny("no")

    agent = agent_of(asks(("echo", {})), says("ok"), tools=[tool_of()])
    agent.hooks.before(no)
    assert (await agent.run("go")).denials == 1


def test_the_package_starts_without_loading_its_parts() -> None:
    program = (
        "import sys, harness; "
        "print(sorted(m for m in sys.modules if m.startswith(('harness', 'pydantic', 'asyncio'))))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['harness']"


def test_every_name_of_the_face_can_be_had() -> None:
    for name in harness.__all__:
        assert getattr(harness, name) is not None
    with pytest.raises(AttributeError):
        harness.nothing  # noqa: B018
