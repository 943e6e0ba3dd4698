"""Corners of the pipeline that are easy to lose: what a listener, a scope or a log may not do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from harness.budget import Budget, Ledger
from harness.bus import Events
from harness.errors import LogError
from harness.hook import Accept, CallInfo, Draft
from harness.message import ToolMessage, conversation_fault
from harness.pipeline import Pipeline
from harness.record import EventLog, read_events
from harness.registry import Registry
from harness.result import FailureKind, Success
from harness.signal import Signal
from runners import LostError
from tests.harness.doubles import Recorder, TableJudge, agent_of, asks, call, says, tool_of


def test_a_filter_never_hides_what_the_scope_registered_itself() -> None:
    scope = Registry([tool_of("a"), tool_of("b")]).scope([tool_of("own")])
    scope.restrict(deny=["a", "b"])
    assert scope.names() == ("own",)


def test_a_filter_is_copied_when_it_is_registered() -> None:
    allowed = ["a"]
    scope = Registry([tool_of("a"), tool_of("b")]).scope()
    scope.restrict(allow=allowed)
    allowed.append("b")
    assert scope.names() == ("a",)


async def test_a_call_that_is_cancelled_before_it_is_looked_at_skips_policy_and_is_told_once() -> (
    None
):
    judge, signal = TableJudge(tools={"f": "allow"}), Signal()
    asked: list[str] = []
    pipeline = Pipeline(Registry([tool_of("f")]), judge=judge)
    pipeline.hooks.guard(lambda info: asked.append(info.name))
    told: list[str] = []
    pipeline.hooks.observe(lambda info, result: told.append(result.error.code))
    signal.cancel()
    result = await pipeline.call(call("f"), signal=signal)
    assert result.error.code == "ABORTED_BEFORE_DISPATCH"
    assert (judge.seen, asked, told) == ([], [], ["ABORTED_BEFORE_DISPATCH"])
    assert pipeline.ledger.tool_calls == 0


@pytest.mark.parametrize(("value", "ok"), [({"n": 1}, True), ({"n": "one"}, False)])
async def test_a_wrappers_own_success_is_held_to_the_output_schema(value: Any, ok: bool) -> None:
    output = {"type": "object", "properties": {"n": {"type": "integer"}}}

    async def takes_over(info: CallInfo, call_next: Any) -> Any:
        return Success(value)

    pipeline = Pipeline(Registry([tool_of("f", output=output)]))
    pipeline.hooks.wrap(takes_over)
    result = await pipeline.call(call("f"))
    assert (result.ok, result.error is None or result.error.kind) == (
        ok,
        True if ok else FailureKind.INVALID_OUTPUT,
    )


@pytest.mark.parametrize("answer", [RuntimeError("oops"), "no outcome", None])
async def test_a_wrapper_that_raises_or_answers_nothing_fails_its_call(answer: Any) -> None:
    posts: list[str] = []

    async def broken(info: CallInfo, call_next: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def after(info: CallInfo, draft: Draft, call_next: Any) -> Any:
        posts.append(info.name)
        return await call_next()

    pipeline = Pipeline(Registry([tool_of()]))
    dispose = pipeline.hooks.wrap(broken)
    pipeline.hooks.after(after)
    failed = await pipeline.call(call("echo", {"text": "a"}))
    dispose()
    good = await pipeline.call(call("echo", {"text": "b"}))
    assert (failed.ok, failed.value, failed.error.code) == (False, None, "HOOK_FAILED")
    assert failed.content.startswith("Failed: echo: a hook failed: ")
    assert (good.content, posts, pipeline.ledger.tool_calls) == ("b", ["echo"], 1)


async def test_a_replaced_value_is_held_to_the_output_schema_and_rendered_anew() -> None:
    output = {"type": "object", "properties": {"n": {"type": "integer"}}}
    accepted: list[Any] = [{"n": 2}, {"n": "two"}]

    async def replace(info: CallInfo, draft: Draft, call_next: Any) -> Any:
        return Accept(value=accepted.pop(0))

    body = tool_of("f", lambda *_: {"n": 1}, output=output, inline=True)
    pipeline = Pipeline(Registry([body]))
    pipeline.hooks.after(replace)
    good, bad = await pipeline.call(call("f")), await pipeline.call(call("f"))
    assert (good.content, good.value) == ('{"n":2}', {"n": 2})
    assert (bad.ok, bad.value) == (False, None)


async def test_a_replaced_content_keeps_the_value() -> None:
    async def replace(info: CallInfo, draft: Draft, call_next: Any) -> Any:
        return Accept(content="short")

    pipeline = Pipeline(Registry([tool_of()]))
    pipeline.hooks.after(replace)
    result = await pipeline.call(call("echo", {"text": "long"}))
    assert (result.content, result.value) == ("short", "long")


async def test_a_retry_runs_everything_inside_again() -> None:
    trail: list[str] = []

    async def twice(info: CallInfo, call_next: Any) -> Any:
        await call_next()
        return await call_next()

    async def inner(info: CallInfo, call_next: Any) -> Any:
        trail.append("inner")
        return await call_next()

    pipeline = Pipeline(Registry([tool_of("f", lambda *_: trail.append("body"), inline=True)]))
    pipeline.hooks.wrap(twice)
    pipeline.hooks.wrap(inner)
    await pipeline.call(call("f"))
    assert trail == ["inner", "body", "inner", "body"]
    assert pipeline.ledger.tool_calls == 2


async def test_started_calls_of_a_cancelled_batch_are_waited_for_and_recorded() -> None:
    signal, ended = Signal(), []

    async def body(arguments: dict[str, Any], execution: Any) -> str:
        if execution.call_id == "c2":
            signal.cancel()
        await asyncio.sleep(0)
        ended.append(execution.call_id)
        return "x"

    tool = tool_of("f", body, concurrency_safe=True)
    agent = agent_of(asks(*[("f", {})] * 4), tools=[tool], signal=signal, pool=2)
    result = await agent.run("go")
    texts = [m.content for m in result.messages if isinstance(m, ToolMessage)]
    assert ended == ["c1", "c2"]
    assert [text.endswith("its work was done all the same") for text in texts] == [
        True,
        True,
        False,
        False,
    ]
    assert texts[2:] == ["Cancelled: f: not executed, the run was cancelled"] * 2


async def test_a_question_that_cannot_be_logged_is_not_answered_and_nothing_runs(tmp_path) -> None:
    ran: list[int] = []
    log = EventLog.create(tmp_path / "e.jsonl", run="r")
    events = Events(run="r", log=log)

    class Closing:
        name = "closing"

        async def ask(self, request: Any, /) -> bool:
            log.close()
            return True

    pipeline = Pipeline(
        Registry([tool_of("f", lambda *_: ran.append(1), inline=True)]),
        judge=TableJudge(tools={"f": "ask"}),
        approver=Closing(),
        events=events,
    )
    with pytest.raises(LogError):
        await pipeline.run([call("f")])
    assert ran == []


async def test_a_broken_log_drains_a_batch_and_starts_nothing_more(tmp_path) -> None:
    log = EventLog.create(tmp_path / "e.jsonl", run="r")
    trail: list[str] = []

    async def body(arguments: dict[str, Any], execution: Any) -> str:
        trail.append(f"start {execution.call_id}")
        try:
            if execution.call_id == "c1":
                log.close()
            else:
                await asyncio.Event().wait()
        finally:
            trail.append(f"end {execution.call_id}")
        return "x"

    tool = tool_of("f", body, concurrency_safe=True)
    agent = agent_of(asks(*[("f", {})] * 3), tools=[tool], events=Events(run="r", log=log), pool=2)
    with pytest.raises(LogError):
        await agent.run("go")
    assert trail == ["start c1", "end c1", "start c2", "end c2"]
    assert conversation_fault(list(agent.transcript)) is None


async def test_the_codes_of_calls_that_a_broken_box_or_a_spent_budget_stopped() -> None:
    async def body(arguments: dict[str, Any], execution: Any) -> str:
        raise LostError("the box ended")

    calls = [call("f", {}, f"c{n}") for n in (1, 2)]
    broken = await Pipeline(Registry([tool_of("f", body)])).run(calls)
    spent = Pipeline(Registry([tool_of("f")]), ledger=Ledger(Budget(tool_calls=1)))
    over = await spent.run([*calls, call("f", {}, "c3")])
    assert [result.error.code for result in broken.results] == [
        "BOX_FAILED",
        "ABORTED_BEFORE_DISPATCH",
    ]
    assert [result.error and result.error.code for result in over.results] == [
        None,
        "OVER_BUDGET",
        "OVER_BUDGET",
    ]


async def test_no_hook_looks_at_a_call_whose_box_broke_and_its_error_names_the_fault() -> None:
    async def body(arguments: dict[str, Any], execution: Any) -> str:
        raise LostError("the box ended")

    posts: list[str] = []
    pipeline = Pipeline(Registry([tool_of("f", body)]))

    async def after(*_: Any) -> Accept:
        posts.append("after")
        return Accept()

    pipeline.hooks.after(after)
    (result,) = (await pipeline.run([call("f")])).results
    assert (result.error.kind, result.error.type, posts) == (FailureKind.ABORTED, "LostError", [])


async def test_a_call_that_is_not_looked_at_is_told_with_its_step() -> None:
    signal, events = Signal(), Events()
    seen = Recorder(events)
    signal.cancel()
    await Pipeline(Registry([tool_of("f")]), events=events).run([call("f")], step=3, signal=signal)
    steps = {event.step for event in seen.events if event.type == "tool/call"}
    assert steps == {3}


async def test_a_call_is_in_the_record_before_its_body_starts(tmp_path) -> None:
    log = EventLog.create(tmp_path / "e.jsonl", run="r")
    found: list[list[str]] = []

    def body(*_: Any) -> str:
        found.append([record["type"] for record in read_events(log.path)])
        return "x"

    agent = agent_of(
        asks(("f", {})),
        says("ok"),
        tools=[tool_of("f", body, inline=True)],
        policy=TableJudge(tools={"f": "allow"}),
        events=Events(run="r", log=log),
    )
    await agent.run("go")
    assert found == [
        ["run/start", "step/start", "model/request", "model/reply", "tool/call", "tool/verdict"]
    ]


async def test_a_listener_of_results_sees_them_in_the_models_order() -> None:
    gate = asyncio.Event()

    async def body(arguments: dict[str, Any], execution: Any) -> str:
        if execution.call_id == "c1":
            await gate.wait()
        gate.set()
        return execution.call_id

    events = Events()
    seen = Recorder(events)
    pipeline = Pipeline(Registry([tool_of("f", body, concurrency_safe=True)]), events=events)
    await pipeline.run([call("f", {}, "c1"), call("f", {}, "c2")])
    assert [payload.content for payload in seen.of("tool/result")] == ["c1", "c2"]
