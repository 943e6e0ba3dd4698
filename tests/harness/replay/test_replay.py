"""A recorded run drives the real loop again, and every difference is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import policies
from harness.agent import Agent
from harness.bus import Events
from harness.errors import ConfigError
from harness.event import Notice
from harness.message import ToolCall
from harness.model import Reply, Usage
from harness.models.scripted import ScriptedModel
from harness.record import MARK, EventLog, Redactor, read_events, redactor
from harness.replay import redecide, replay
from harness.tools import builtin_tools
from runners import Capture, Ending, Outcome, ScriptedRun, ScriptedSession

Records = list[dict[str, Any]]
BAD = ToolCall("r2", "run_command", json.dumps({"argv": ["git", "-c", "core.pager=id", "log"]}))
REPLIES = [
    Reply("look", (ToolCall("r1", "read_file", '{"path": "a.py"}'), BAD), Usage(10, 3)),
    Reply(
        "change",
        (
            ToolCall("w1", "edit_file", '{"path": "a.py", "old": "1", "new": "2"}'),
            ToolCall("w2", "edit_file", '{"path": "a.py", "old": "not there", "new": "x"}'),
            ToolCall("x1", "no_such_tool", "{}"),
            ToolCall("x2", "read_file", "{oops"),
        ),
    ),
    Reply("", (ToolCall("t1", "run_command", '{"line": "python3 -m pytest -q"}'),)),
    Reply("", (ToolCall("f1", "finish", '{"answer": "done"}'),)),
]


def passes(asked: ScriptedRun) -> Outcome:
    return Outcome(Ending.EXITED, code=0, codes=(0,), stdout=Capture(b"1 passed\n", b"", 9))


async def record(
    tmp_path: Path,
    replies: list[Reply] = REPLIES,
    program: Callable[[ScriptedRun], Outcome] = passes,
    redact: Redactor | None = None,
) -> Records:
    path = tmp_path / "events.jsonl"
    log = EventLog.create(path, run="r", redact=redact)
    session = ScriptedSession(program, files={"a.py": "x = 1\n"})
    policy = policies.load("python-dev")
    events = Events(run="r", log=log)
    events.emit(Notice("box", "", {"root": "/workspace", "isolation": "container"}))
    agent = Agent(
        ScriptedModel(replies),
        tools=builtin_tools(session, policy),
        policy=policy,
        session=session,
        events=events,
        system="be good",
    )
    await agent.run("mend it")
    log.close()
    return list(read_events(path))


@pytest.mark.req("S-234")
async def test_a_faithful_record_replays_with_no_box_and_no_model(tmp_path: Path) -> None:
    records = await record(tmp_path)
    found = await replay(records, policies.load("python-dev"))
    assert (found.differences, found.compared) == ([], found.recorded)
    assert found.recorded > 20


def of(records: Records, kind: str, number: int = 0) -> dict[str, Any]:
    return [r for r in records if r["type"] == kind][number]


CHANGES: dict[str, tuple[Callable[[Records], Any], int, str]] = {
    "a byte of an answer": (
        lambda r: of(r, "model/reply", 1).update(text="chance"),
        3,
        "step 2: what is recorded of its answer or its results is not what step 3 sent",
    ),
    "an argument": (
        lambda r: of(r, "model/reply", 1)["calls"][0].update(
            arguments='{"path": "b.py", "old": "1", "new": "2"}'
        ),
        2,
        "tool/call differs in arguments",
    ),
    "the order of two calls": (
        lambda r: of(r, "model/reply", 0)["calls"].reverse(),
        1,
        "tool/call differs in call, name, arguments",
    ),
    "a result": (
        lambda r: of(r, "tool/result", 0).update(content="other"),
        2,
        "step 1: what is recorded of its answer or its results is not what step 2 sent",
    ),
    "a verdict": (
        lambda r: of(r, "tool/verdict", 1).update(reason="no-program"),
        1,
        "tool/verdict differs in reason",
    ),
    "a lost record": (
        lambda r: r.remove(of(r, "tool/verdict", 0)),
        1,
        "tool/verdict",
    ),
}


@pytest.mark.parametrize(("change", "step", "says"), CHANGES.values(), ids=CHANGES)
async def test_a_changed_record_diverges_at_its_step(
    tmp_path: Path, change: Callable[[Records], Any], step: int, says: str
) -> None:
    records = await record(tmp_path)
    change(records)
    found = await replay(records, policies.load("python-dev"))
    (first,) = found.differences
    assert (first.step, says in first.text()) == (step, True), first.text()


async def test_a_divergence_shows_both_sides(tmp_path: Path) -> None:
    records = await record(tmp_path)
    of(records, "tool/verdict", 1).update(reason="no-program")
    found = await replay(records, policies.load("python-dev"))
    text = found.differences[0].text()
    assert ("-reason: no-program" in text, "+reason: unknown-option" in text) == (True, True)


async def test_a_record_that_ends_in_the_middle_replays_up_to_there(tmp_path: Path) -> None:
    records = await record(tmp_path)
    cut = records[: records.index(of(records, "tool/result", 2))]
    found = await replay(cut, policies.load("python-dev"))
    assert found.same


async def test_another_policy_is_a_difference(tmp_path: Path) -> None:
    records = await record(tmp_path)
    found = await replay(records, policies.load("readonly"))
    assert found.differences[0].type == "tool/verdict"


async def test_in_a_box_the_results_that_differ_are_collected(tmp_path: Path) -> None:
    records = await record(tmp_path)

    def fails(asked: ScriptedRun) -> Outcome:
        return Outcome(Ending.EXITED, code=1, codes=(1,), stdout=Capture(b"1 failed\n", b"", 9))

    session = ScriptedSession(fails, files={"a.py": "x = 1\n"})
    found = await replay(records, policies.load("python-dev"), session=session)
    assert [(d.type, d.step) for d in found.differences][:1] == [("tool/result", 3)]


async def test_programs_that_print_otherwise_and_end_alike_are_told_apart(tmp_path: Path) -> None:
    records = await record(tmp_path)

    def slower(asked: ScriptedRun) -> Outcome:
        return Outcome(Ending.EXITED, code=0, codes=(0,), stdout=Capture(b"in 9 s\n", b"", 7))

    session = ScriptedSession(slower, files={"a.py": "x = 1\n"})
    found = await replay(records, policies.load("python-dev"), session=session)
    assert (found.same, [d.step for d in found.texts]) == (True, [3])
    assert found.compared == found.recorded - 1


async def test_a_result_that_was_cut_is_not_cut_again(tmp_path: Path) -> None:
    call = ToolCall("t", "run_command", '{"line": "python3 -m pytest -q"}')

    def long(asked: ScriptedRun) -> Outcome:
        out = b"x" * 200_000
        return Outcome(Ending.EXITED, code=0, codes=(0,), stdout=Capture(out, b"", len(out)))

    records = await record(tmp_path, [Reply("", (call,)), Reply("done")], long)
    assert "characters" in of(records, "tool/result")["content"]
    assert (await replay(records, policies.load("python-dev"))).same


async def test_what_was_not_written_is_no_difference(tmp_path: Path) -> None:
    hide = redactor(["mend it", "look"])
    records = await record(tmp_path, redact=hide)
    assert MARK in json.dumps(records)
    found = await replay(records, policies.load("python-dev"))
    assert (found.differences, found.compared) == ([], found.recorded)


async def test_a_run_without_a_model_has_nothing_to_replay() -> None:
    with pytest.raises(ConfigError, match="asked no model"):
        await replay([{"type": "run/start", "run": "r"}], policies.load("readonly"))


async def test_redecide_lists_what_another_policy_would_deny(tmp_path: Path) -> None:
    records = await record(tmp_path)
    made = await redecide(records, policies.load("readonly"))
    changed = {(one.call, one.before, one.after.decision.label) for one in made if one.changed}
    assert changed == {("w1", "allow", "deny"), ("w2", "allow", "deny"), ("t1", "allow", "deny")}


async def test_redecide_under_the_same_policy_changes_nothing(tmp_path: Path) -> None:
    records = await record(tmp_path)
    made = await redecide(records, policies.load("python-dev"))
    assert [(one.call, one.changed) for one in made] == [
        (call, False) for call in ("r1", "r2", "w1", "w2", "t1")
    ]
