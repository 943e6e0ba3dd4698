"""Whoever is asked to do something finds in the file all that came before."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.agent import Agent
from harness.approval import CallableApprover
from harness.budget import Budget
from harness.bus import Events
from harness.errors import LogError
from harness.event import RunStart, StepEnd, StepStart
from harness.model import ModelRequest, Reply
from harness.record import EventLog, read_events, redactor, verify
from harness.tool import Execution
from tests.harness.doubles import Recorder, TableJudge, asks, says, tool_of


class Witness:
    """Notes the types of the records that are in the file whenever somebody acts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen: list[tuple[str, list[str]]] = []

    def __call__(self, who: str) -> None:
        kinds = [record["type"] for record in read_events(self.path)]
        self.seen.append((who, kinds[sum(len(more) for _, more in self.seen) :]))


class Watching:
    """A model that calls the witness before it answers."""

    def __init__(self, witness: Witness, *replies: Reply) -> None:
        self._witness = witness
        self._replies = list(replies)

    async def generate(self, _: ModelRequest, /) -> Reply:
        self._witness("model")
        return self._replies.pop(0)


def agent_in(path: Path, log: EventLog, witness: Witness, **settings: Any) -> Agent:
    def body(arguments: dict[str, Any], execution: Execution) -> str:
        del arguments, execution
        witness("tool")
        return "x" * 40

    changes = settings.pop("tool", {})
    return Agent(
        Watching(witness, asks(("echo", {})), asks(("echo", {})), says("ok")),
        tools=[tool_of(body=body, inline=True, **changes)],
        events=Events(run="r", log=log),
        budget=Budget(),
        **settings,
    )


REQUEST = ["step/start", "model/request"]
VERDICT = ["model/reply", "tool/call", "tool/verdict"]
AFTER = ["tool/result", "step/end", *REQUEST]


@pytest.mark.parametrize("redact", [None, redactor(["hunter2"])], ids=["plain", "redacted"])
async def test_the_file_is_whole_whenever_a_model_or_a_tool_is_called(tmp_path, redact) -> None:
    path = tmp_path / "e.jsonl"
    witness = Witness(path)
    with EventLog.create(path, run="r", redact=redact) as log:
        judge = TableJudge(tools={"echo": "allow"})
        await agent_in(path, log, witness, policy=judge).run("go")
    assert witness.seen == [
        ("model", ["run/start", *REQUEST]),
        ("tool", VERDICT),
        ("model", AFTER),
        ("tool", VERDICT),
        ("model", AFTER),
    ]
    assert verify(path).code == 0


async def test_so_it_is_where_no_policy_judges(tmp_path) -> None:
    path = tmp_path / "e.jsonl"
    witness = Witness(path)
    with EventLog.create(path, run="r") as log:
        await agent_in(path, log, witness).run("go")
    assert witness.seen[1] == ("tool", ["model/reply", "tool/call"])


async def test_so_it_is_for_hooks_and_whoever_answers_questions(tmp_path) -> None:
    path = tmp_path / "e.jsonl"
    witness = Witness(path)

    async def hook(_: object, inside: Callable[[], Any]) -> Any:
        witness("hook")
        return await inside()

    def answer(_: object) -> bool:
        witness("approver")
        return True

    with EventLog.create(path, run="r") as log:
        judge = TableJudge(tools={"echo": "ask"})
        agent = agent_in(path, log, witness, policy=judge, approver=CallableApprover(answer))
        agent.hooks.pre.append(hook)
        await agent.run("go")
    assert witness.seen[1:4] == [
        ("hook", ["model/reply", "tool/call"]),
        ("approver", ["tool/verdict", "approval/asked"]),
        ("tool", ["approval/decided"]),
    ]


async def test_so_it_is_for_what_a_tool_does_to_be_judged(tmp_path) -> None:
    path = tmp_path / "e.jsonl"
    witness = Witness(path)
    judge = TableJudge(tools={"echo": "allow"})

    async def prepare(arguments: object, execution: Execution) -> Any:
        del arguments, execution
        witness("prepare")
        return judge.judge_tool("echo"), None, None

    with EventLog.create(path, run="r") as log:
        await agent_in(path, log, witness, policy=judge, tool={"prepare": prepare}).run("go")
    assert witness.seen[1] == ("prepare", ["model/reply", "tool/call"])


async def test_so_it_is_for_a_model_that_sums_up(tmp_path) -> None:
    path = tmp_path / "e.jsonl"
    witness = Witness(path)

    async def compact(_: object) -> str:
        witness("compact")
        return "before: nothing of note"

    with EventLog.create(path, run="r") as log:
        agent = agent_in(path, log, witness, context_characters=60, compact=compact)
        await agent.run("go")
    found = [kinds for who, kinds in witness.seen if who == "compact"]
    assert found[0][-3:] == ["tool/result", "step/end", "step/start"]


def test_what_is_told_soon_is_written_and_told_with_the_next_event(tmp_path) -> None:
    path = tmp_path / "e.jsonl"
    with EventLog.create(path, run="r") as log:
        events = Events(run="r", log=log)
        seen = Recorder(events)
        events.emit(RunStart())
        events.emit(StepStart(), step=1, soon=True)
        before = (log.count, [event.type for event in seen.events])
        events.emit(StepEnd(0, 0.5), step=1)
        after = (log.count, [event.type for event in seen.events])
    assert before == (1, ["run/start"])
    assert after == (3, ["run/start", "step/start", "step/end"])
    assert [record.get("step") for record in read_events(path)] == [None, 1, 1]


def test_what_is_written_in_one_go_is_in_the_file_as_a_whole_or_not_at_all(
    tmp_path, monkeypatch
) -> None:
    path = tmp_path / "e.jsonl"
    log = EventLog.create(path, run="r")
    events = Events(run="r", log=log)
    seen = Recorder(events)
    events.emit(RunStart())
    events.emit(StepStart(), step=1, soon=True)
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if b'"step/end"' in data:
            write(descriptor, data[: data.index(b"step/end")])
            raise OSError(28, "No space left on device")
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(LogError, match="No space left on device"):
        events.emit(StepEnd(0, 0.5), step=1)
    monkeypatch.undo()
    assert [record["type"] for record in read_events(path)] == ["run/start"]
    assert [event.type for event in seen.events] == ["run/start"]
    with pytest.raises(LogError, match="No space left on device"):
        log.append("notice")
    log.close()
