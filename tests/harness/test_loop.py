"""The agent loop: steps, budgets, cancellation, several turns."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.agent import Agent
from harness.budget import Budget, BudgetError, Spent
from harness.bus import Events, current_step
from harness.context import Transcript
from harness.errors import HarnessError, MalformedReplyError, ModelError
from harness.event import Event
from harness.loop import LoopResult, run_loop
from harness.message import Assistant, System, ToolCall, ToolMessage, User, conversation_fault
from harness.model import ModelRequest, Reply, Usage
from harness.models.scripted import ScriptedModel
from harness.pipeline import Pipeline
from harness.registry import Registry
from harness.signal import Signal
from harness.tool import Execution, Tool
from policies import Budgets
from runners import LostError
from tests.harness.doubles import Recorder, TableJudge, agent_of, asks, call, says, tool_of


class Model:
    """A model made of a function of the request."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.requests: list[ModelRequest] = []

    async def generate(self, request: ModelRequest, /) -> Reply:
        self.requests.append(request)
        found = self.answer(request)
        return await found if asyncio.iscoroutine(found) else found


# --- steps -----------------------------------------------------------------------------------


@pytest.mark.req("S-138", "S-140")
async def test_each_step_sends_appends_runs_and_appends() -> None:
    agent = agent_of(asks(("echo", {"text": "hi"})), says("bye"), tools=[tool_of()])
    result = await agent.run("go")
    first = call("echo", {"text": "hi"})
    assert list(result.messages) == [
        User("go"),
        Assistant("", (first,)),
        ToolMessage("c1", "echo", "hi"),
        Assistant("bye", ()),
    ]
    assert [list(r.messages) for r in agent.model.requests] == [
        list(result.messages)[:1],
        list(result.messages)[:3],
    ]


@pytest.mark.req("S-139", "S-150")
async def test_a_reply_without_calls_completes_the_run_with_its_text() -> None:
    result = await agent_of(says("forty-two")).run("what?")
    assert (result.status, result.answer, result.steps) == ("completed", "forty-two", 1)


@pytest.mark.req("S-141", "S-142")
async def test_n_calls_have_n_results_in_order_with_their_ids() -> None:
    reply = asks(*[("echo", {"text": str(n)}) for n in range(4)])
    result = await agent_of(reply, says("ok"), tools=[tool_of()]).run("go")
    results = [m for m in result.messages if isinstance(m, ToolMessage)]
    assert [(m.call_id, m.tool, m.content) for m in results] == [
        (f"c{n + 1}", "echo", str(n)) for n in range(4)
    ]


@pytest.mark.req("S-118", "S-119", "S-144")
async def test_a_failure_is_a_tool_message_and_the_model_reacts_to_it() -> None:
    def answer(request: ModelRequest) -> Reply:
        last = request.messages[-1]
        if isinstance(last, ToolMessage):
            return says(f"it said: {last.content}")
        return asks(("missing", {}))

    result = await Agent(Model(answer), tools=[tool_of()]).run("go")
    assert result.messages[2].call_id == "c1"
    assert result.messages[2].is_error
    assert result.answer.startswith("it said: Unknown tool: 'missing'")


@pytest.mark.req("S-111", "S-147")
async def test_a_later_request_holds_the_whole_conversation() -> None:
    agent = agent_of(
        asks(("echo", {"text": "1"})), asks(("echo", {"text": "2"})), says("ok"), tools=[tool_of()]
    )
    await agent.run("go")
    assert [len(r.messages) for r in agent.model.requests] == [1, 3, 5]
    assert agent.model.requests[2].messages[2].content == "1"


@pytest.mark.req("S-143")
async def test_every_request_is_a_valid_conversation() -> None:
    reply = asks(("echo", {}), ("missing", {}), ("echo", "{"))
    agent = agent_of(reply, reply, says("ok"), tools=[tool_of()], system="s")
    await agent.run("go")
    assert [conversation_fault(r.messages) for r in agent.model.requests] == [None] * 3


@pytest.mark.req("S-145")
async def test_the_model_gets_a_view_that_does_not_grow_and_cannot_be_changed() -> None:
    kept: list[Any] = []

    def answer(request: ModelRequest) -> Reply:
        kept.append((request.messages, len(request.messages)))
        with pytest.raises((AttributeError, TypeError)):
            request.messages.append(User("forged"))  # type: ignore[attr-defined]
        with pytest.raises(TypeError):
            request.messages[0] = User("forged")  # type: ignore[index]
        return asks(("echo", {})) if len(kept) < 3 else says("ok")

    await Agent(Model(answer), tools=[tool_of()]).run("go")
    assert [len(view) for view, _ in kept] == [length for _, length in kept]


@pytest.mark.req("S-146")
async def test_the_system_prompt_is_the_first_message_of_every_request() -> None:
    agent = agent_of(asks(("echo", {})), says("ok"), says("again"), tools=[tool_of()], system="Be.")
    await agent.run("go")
    await agent.run("and?")
    assert all(r.messages[0] == System("Be.") for r in agent.model.requests)
    assert sum(isinstance(m, System) for m in agent.transcript) == 1


@pytest.mark.req("S-148")
async def test_the_messages_are_the_only_state_of_the_loop() -> None:
    first = agent_of(asks(("echo", {"text": "1"})), says("ok"), tools=[tool_of()])
    result = await first.run("go")
    again = agent_of(says("on"), tools=[tool_of()])
    again.transcript.extend(tuple(result.messages))
    follow = await again.run("more")
    assert list(follow.messages) == [*result.messages, User("more"), Assistant("on")]


@pytest.mark.req("S-149")
async def test_several_inputs_share_one_conversation_and_drive_a_loop_each() -> None:
    agent = agent_of(says("one"), asks(("echo", {})), says("two"), tools=[tool_of()])
    first = await agent.run("a")
    second = await agent.run("b")
    assert (first.answer, first.steps, second.answer, second.steps) == ("one", 1, "two", 2)
    assert [m.text for m in agent.transcript if isinstance(m, User)] == ["a", "b"]


@pytest.mark.req("S-22", "S-26")
async def test_the_next_request_carries_the_tools_that_are_there_then() -> None:
    registry = Registry([tool_of("first")])

    def grow(_: Any, __: Any) -> str:
        registry.register(tool_of("second"))
        registry.unregister("first")
        return "ok"

    registry.register(tool_of("grow", grow))
    agent = Agent(ScriptedModel([asks(("grow", {})), says("ok")], keep=True), tools=registry)
    await agent.run("go")
    assert [[t.name for t in r.tools] for r in agent.model.requests] == [
        ["first", "grow"],
        ["grow", "second"],
    ]


@pytest.mark.req("S-24")
async def test_without_tools_a_request_has_none() -> None:
    agent = agent_of(says("ok"))
    await agent.run("go")
    assert agent.model.requests[0].tools == ()


@pytest.mark.req("S-25")
async def test_a_model_names_tools_and_nothing_else_happens() -> None:
    ran: list[str] = []
    text = 'call echo({"text": "x"}) now; import os; os.system("id")'
    agent = agent_of(says(text), tools=[tool_of(body=lambda *_: ran.append("x"))])
    result = await agent.run("go")
    assert (ran, result.answer) == ([], text)


@pytest.mark.req("S-192", "S-193")
async def test_any_object_that_answers_is_a_model() -> None:
    result = await Agent(Model(lambda request: says(f"{len(request.tools)} tools"))).run("go")
    assert result.answer == "0 tools"


async def test_a_tool_that_ends_the_run_completes_it_with_its_answer() -> None:
    from harness.tools.ending import finish_tool

    agent = agent_of(
        asks(("echo", {}), ("finish", {"answer": "done"})), tools=[tool_of(), finish_tool()]
    )
    result = await agent.run("go")
    assert (result.status, result.answer, result.steps) == ("completed", "done", 1)
    assert conversation_fault(result.messages) is None


async def test_a_cut_answer_is_kept_and_the_run_goes_on_with_a_note() -> None:
    agent = agent_of(Reply("half a thou", cut=True), says("whole"))
    result = await agent.run("go")
    assert [type(m).__name__ for m in result.messages] == ["User", "Assistant", "User", "Assistant"]
    assert (result.messages[2].origin, result.answer) == ("context", "whole")


@pytest.mark.req("S-89")
async def test_context_of_a_batch_follows_its_results_in_order() -> None:
    async def body(arguments: dict[str, Any], execution: Execution) -> str:
        execution.note(f"note {arguments['text']}")
        return arguments["text"]

    agent = agent_of(
        asks(("f", {"text": "a"}), ("f", {"text": "b"})), says("ok"), tools=[tool_of("f", body)]
    )
    result = await agent.run("go")
    assert list(result.messages)[2:6] == [
        ToolMessage("c1", "f", "a"),
        ToolMessage("c2", "f", "b"),
        User("note a", "context"),
        User("note b", "context"),
    ]


# --- budgets ---------------------------------------------------------------------------------


@pytest.mark.req("S-152", "S-154", "S-155")
async def test_at_the_step_limit_the_run_ends_with_its_own_status() -> None:
    model = Model(lambda _: asks(("echo", {})))
    result = await Agent(model, tools=[tool_of()], budget=Budget(steps=3)).run("go")
    assert (result.status, result.answer, result.steps) == ("step_limit", None, 3)
    assert len(model.requests) == 3
    assert conversation_fault(result.messages) is None


@pytest.mark.req("S-153")
@pytest.mark.parametrize("name", ["steps", "tool_calls", "tokens"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
def test_a_limit_out_of_range_refuses_to_start(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"budget {name}: must be a whole number from 1"):
        Budget(**{name: value})


@pytest.mark.parametrize("name", ["wall_seconds", "cost"])
@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), "60", True])
def test_a_time_or_cost_out_of_range_refuses_to_start(name: str, value: Any) -> None:
    with pytest.raises(BudgetError, match=f"budget {name}: must be a positive, finite number"):
        Budget(**{name: value})


def test_a_cap_out_of_range_names_its_tool() -> None:
    with pytest.raises(BudgetError, match=r"budget per_tool\.fly: must be a whole number from 1"):
        Budget(per_tool={"walk": 1, "fly": 0})
    assert Budget(steps=1, tool_calls=1, per_tool={"walk": 1}, tokens=1, cost=0.01).tokens == 1


def test_a_policys_budgets_are_taken_over_whole() -> None:
    budgets = Budgets(steps=3, tool_calls=4, wall_seconds=5, per_tool={"fly": 6})
    made = Budget.of(budgets, tokens=7, cost=8.5)
    assert made == Budget(3, 4, 5, {"fly": 6}, tokens=7, cost=8.5)


async def test_everything_that_was_reported_is_in_what_was_spent() -> None:
    usage = Usage(input_tokens=60, output_tokens=5, cost=0.25)
    replies = [Reply("", (call("echo"),), usage), Reply("ok", (), usage)]
    result = await agent_of(*replies, tools=[tool_of()]).run("go")
    spent = result.spent.to_dict()
    assert spent.pop("wall_seconds") > 0
    assert spent == {
        "steps": 2,
        "tool_calls": 1,
        "per_tool": {"echo": 1},
        "input_tokens": 120,
        "output_tokens": 10,
        "cost": 0.5,
    }


async def test_no_timer_of_a_run_is_left_behind() -> None:
    loop = asyncio.get_running_loop()
    before = [handle for handle in loop._scheduled if not handle.cancelled()]
    await agent_of(asks(("echo", {})), says("ok"), tools=[tool_of()]).run("go")
    assert [handle for handle in loop._scheduled if not handle.cancelled()] == before


async def test_a_result_of_any_length_has_a_short_repr() -> None:
    result = await agent_of(says("x" * 10_000)).run("go")
    assert len(repr(result.messages)) < 100


def test_what_nobody_spent_is_nothing() -> None:
    assert Spent().to_dict() == {"steps": 0, "tool_calls": 0, "wall_seconds": 0.0, "per_tool": {}}


@pytest.mark.req("S-156", "S-158")
async def test_the_tool_limit_counts_over_all_steps_and_has_its_own_status() -> None:
    ran: list[str] = []
    tool = tool_of(body=lambda _, e: ran.append(e.call_id), inline=True)
    model = Model(lambda r: asks(("echo", {}), ("echo", {})))
    result = await Agent(model, tools=[tool], budget=Budget(tool_calls=3)).run("go")
    assert (result.status, len(ran), result.steps) == ("tool_limit", 3, 2)
    assert result.spent.tool_calls == 3


@pytest.mark.req("S-157")
async def test_a_call_is_counted_before_its_body_runs() -> None:
    counts: list[int] = []
    agent = agent_of(asks(("f", {})), says("ok"))
    agent.registry.register(
        tool_of("f", lambda *_: counts.append(agent.ledger.tool_calls), inline=True)
    )
    await agent.run("go")
    assert counts == [1]


@pytest.mark.req("S-159")
@pytest.mark.parametrize("safe", [True, False])
async def test_the_tool_limit_bites_inside_a_batch(safe: bool) -> None:
    ran: list[str] = []

    async def body(_: Any, execution: Execution) -> str:
        ran.append(execution.call_id)
        return "x"

    agent = agent_of(
        asks(*[("f", {})] * 5),
        tools=[tool_of("f", body, concurrency_safe=safe)],
        budget=Budget(tool_calls=3),
    )
    result = await agent.run("go")
    late = [m.content for m in result.messages if isinstance(m, ToolMessage)][3:]
    assert (ran, result.status) == (["c1", "c2", "c3"], "tool_limit")
    assert late == [
        "Over budget: f: not executed, the run's limit of 3 tool calls is reached",
        "Over budget: f: not executed, the run's budget is spent",
    ]
    assert conversation_fault(result.messages) is None


async def test_calls_behind_a_spent_budget_are_in_the_record_with_their_results() -> None:
    agent = agent_of(
        asks(*[("echo", {"text": "a"})] * 3), tools=[tool_of()], budget=Budget(tool_calls=1)
    )
    seen = Recorder(agent.events)
    await agent.run("go")
    pairs = [(event.type, event.step, event.call) for event in seen.events if event.call]
    ids = ["c1", "c2", "c3"]
    assert [pair for pair in pairs if pair[0] == "tool/call"] == [("tool/call", 1, i) for i in ids]
    assert pairs[-3:] == [("tool/result", 1, i) for i in ids]


async def test_unknown_invalid_and_denied_calls_take_nothing_from_the_tool_budget() -> None:
    agent = agent_of(
        asks(("none", {}), ("echo", "{"), ("rm", {}), ("echo", {})),
        says("ok"),
        tools=[tool_of(), tool_of("rm")],
        policy=TableJudge(tools={"echo": "allow"}),
        budget=Budget(tool_calls=1),
    )
    result = await agent.run("go")
    assert (result.status, result.spent.tool_calls, result.denials) == ("completed", 1, 1)


async def test_a_cap_on_one_tool_refuses_it_and_the_run_goes_on() -> None:
    agent = agent_of(
        asks(("a", {}), ("a", {}), ("b", {})),
        says("ok"),
        tools=[tool_of("a"), tool_of("b")],
        budget=Budget(per_tool={"a": 1}),
    )
    result = await agent.run("go")
    assert result.status == "completed"
    assert [m.is_error for m in result.messages if isinstance(m, ToolMessage)] == [
        False,
        True,
        False,
    ]
    assert result.spent.per_tool == {"a": 1, "b": 1}


@pytest.mark.req("S-160")
async def test_nothing_that_a_model_says_raises_its_limits() -> None:
    def answer(_: ModelRequest) -> Reply:
        return Reply("set steps=1000", (call("echo", {"steps": 1000, "budget": {"steps": 99}}),))

    agent = Agent(Model(answer), tools=[tool_of()], budget=Budget(steps=2))
    result = await agent.run("go")
    assert (result.status, result.steps) == ("step_limit", 2)


async def test_neither_a_budget_nor_a_result_can_be_changed() -> None:
    result = await agent_of(says("ok")).run("go")
    for frozen, name in ((Budget(), "steps"), (result.spent, "steps"), (result, "status")):
        with pytest.raises(AttributeError):
            setattr(frozen, name, 99)


@pytest.mark.req("S-162")
async def test_the_default_limit_is_more_than_most_runs_need_and_can_be_set() -> None:
    assert Budget().steps >= 15
    model = Model(lambda r: asks(("echo", {"text": str(len(r.messages))})))
    assert (await Agent(model, tools=[tool_of()], budget=Budget(steps=7)).run("x")).steps == 7


@pytest.mark.req("S-163")
@pytest.mark.parametrize("slow", ["tool", "model"])
async def test_time_is_bounded_apart_from_steps(slow: str) -> None:
    async def hang(*_: Any) -> Any:
        await asyncio.Event().wait()

    model = Model(hang if slow == "model" else lambda _: asks(("f", {})))
    agent = Agent(
        model,
        tools=[tool_of("f", hang)],
        budget=Budget(wall_seconds=0.05),
        grace_seconds=0.01,
    )
    result = await agent.run("go")
    assert (result.status, result.answer) == ("time_limit", None)
    assert conversation_fault(result.messages) is None


@pytest.mark.parametrize(
    ("usage", "budget"),
    [
        (Usage(input_tokens=60, output_tokens=50), Budget(tokens=100)),
        (Usage(cost=0.6), Budget(cost=0.5)),
    ],
)
async def test_reported_tokens_and_cost_end_a_run(usage: Usage, budget: Budget) -> None:
    ran: list[int] = []
    reply = Reply("", (call("echo"),), usage)
    agent = agent_of(
        reply, says("x"), tools=[tool_of(body=lambda *_: ran.append(1))], budget=budget
    )
    result = await agent.run("go")
    assert (result.status, result.steps, ran) == ("token_limit", 1, [])
    assert conversation_fault(result.messages) is None


@pytest.mark.parametrize("budget", [Budget(tokens=110), Budget(cost=0.5)])
async def test_what_is_just_afforded_is_no_limit(budget: Budget) -> None:
    usage = Usage(input_tokens=60, output_tokens=50, cost=0.5)
    agent = agent_of(
        Reply("", (call("echo"),), usage), says("ok"), tools=[tool_of()], budget=budget
    )
    result = await agent.run("go")
    assert (result.status, result.spent.tool_calls) == ("completed", 1)


async def test_what_is_not_reported_is_not_counted() -> None:
    agent = agent_of(says("x"), budget=Budget(tokens=1, cost=0.001))
    result = await agent.run("go")
    assert (result.status, result.spent.input_tokens, result.spent.cost) == (
        "completed",
        None,
        None,
    )
    assert "cost" not in result.spent.to_dict()


# --- cancellation ----------------------------------------------------------------------------


@pytest.mark.req("S-164")
async def test_cancelled_at_the_start_means_no_step_and_no_request() -> None:
    signal = Signal()
    signal.cancel()
    agent = agent_of(says("x"), signal=signal)
    result = await agent.run("go")
    assert (result.status, result.steps, agent.model.requests) == ("aborted", 0, [])


@pytest.mark.req("S-165")
async def test_cancelled_while_the_model_raises_is_aborted() -> None:
    signal = Signal()

    def answer(_: ModelRequest) -> Reply:
        signal.cancel()
        raise RuntimeError("connection closed")

    result = await Agent(Model(answer), signal=signal).run("go")
    assert (result.status, result.steps) == ("aborted", 0)


@pytest.mark.req("S-166")
@pytest.mark.parametrize("error", [RuntimeError("down"), ModelError("down", status=500)])
async def test_a_model_that_raises_by_itself_reaches_the_caller(error: Exception) -> None:
    def answer(_: ModelRequest) -> Reply:
        raise error

    agent = Agent(Model(answer))
    seen = Recorder(agent.events)
    with pytest.raises(type(error), match="down") as caught:
        await agent.run("go")
    assert caught.value is error
    assert [p.status for p in seen.of("run/end")] == ["model_error"]
    if isinstance(error, ModelError):
        assert list(error.transcript) == [User("go")]


@pytest.mark.req("S-167")
async def test_an_answer_that_comes_after_cancellation_is_discarded() -> None:
    signal = Signal()

    def answer(_: ModelRequest) -> Reply:
        signal.cancel()
        return says("too late")

    result = await Agent(Model(answer), signal=signal).run("go")
    assert (result.status, result.steps, list(result.messages)) == ("aborted", 0, [User("go")])


@pytest.mark.req("S-168", "S-173")
async def test_cancelled_between_two_calls_of_a_batch() -> None:
    signal = Signal()
    ran: list[str] = []

    async def body(_: Any, execution: Execution) -> str:
        ran.append(execution.call_id)
        return "x"

    agent = agent_of(asks(*[("f", {})] * 3), tools=[tool_of("f", body)], signal=signal)
    agent.hooks.observe(lambda *_: signal.cancel())
    started = time.monotonic()
    result = await agent.run("go")
    assert (result.status, result.steps, ran) == ("aborted", 1, ["c1"])
    assert time.monotonic() - started < 0.5
    assert [m.content for m in result.messages if isinstance(m, ToolMessage)] == [
        "x",
        "Cancelled: f: not executed, the run was cancelled",
        "Cancelled: f: not executed, the run was cancelled",
    ]


@pytest.mark.req("S-169")
@pytest.mark.parametrize("way", ["returns", "raises", "checks", "hangs"])
async def test_cancelled_during_a_body(way: str) -> None:
    signal = Signal()

    async def body(_: Any, execution: Execution) -> str:
        signal.cancel()
        if way == "raises":
            raise ValueError("own failure")
        if way == "checks":
            execution.signal.check()
        if way == "hangs":
            await asyncio.Event().wait()
        return "finished"

    agent = agent_of(asks(("f", {})), tools=[tool_of("f", body)], signal=signal, grace_seconds=0.01)
    result = await agent.run("go")
    [message] = [m for m in result.messages if isinstance(m, ToolMessage)]
    assert (result.status, message.is_error) == ("aborted", True)
    assert message.content.startswith("Failed: f: own" if way == "raises" else "Cancelled: f")


@pytest.mark.req("S-170")
async def test_the_signal_reaches_the_model_and_every_tool() -> None:
    signal, given = Signal(), []

    def answer(request: ModelRequest) -> Reply:
        given.append(request.signal)
        return asks(("f", {})) if len(request.messages) == 1 else says("ok")

    tool = tool_of("f", lambda _, execution: given.append(execution.signal), inline=True)
    agent = Agent(Model(answer), tools=[tool], signal=signal)
    agent.events.subscribe(lambda event: signal.cancel() if event.type == "run/end" else None)
    await agent.run("go")
    assert len(given) == 3
    assert not any(one.cancelled for one in given[:2])


@pytest.mark.req("S-171")
async def test_without_a_signal_a_run_is_never_cancelled() -> None:
    agent = agent_of(asks(("echo", {})), says("ok"), tools=[tool_of()])
    assert (await agent.run("go")).status == "completed"


@pytest.mark.req("S-161")
async def test_a_spent_budget_and_a_cancellation_stop_a_run_and_a_failure_does_not() -> None:
    def run(**more: Any) -> Any:
        replies = [asks(("missing", {})), asks(("echo", {})), says("ok")]
        return agent_of(*replies, tools=[tool_of()], **more).run("go")

    cancelled = Signal()
    cancelled.cancel()
    statuses = [
        (await run()).status,
        (await run(budget=Budget(steps=1))).status,
        (await run(signal=cancelled)).status,
    ]
    assert statuses == ["completed", "step_limit", "aborted"]


async def test_cancelling_the_task_ends_the_body_too() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def body(_: Any, __: Any) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    agent = agent_of(asks(("f", {})), tools=[tool_of("f", body)])
    running = asyncio.create_task(agent.run("go"))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set()


@pytest.mark.parametrize("safe", [True, False])
async def test_wherever_the_task_is_cancelled_the_next_turn_is_a_valid_conversation(
    safe: bool,
) -> None:
    ended: list[bool] = []
    for turns in range(40):
        running: list[str] = []

        async def body(_: Any, execution: Execution, running: list[str] = running) -> str:
            running.append(execution.call_id)
            try:
                for _ in range(3):
                    await asyncio.sleep(0)
            finally:
                running.remove(execution.call_id)
            return "x"

        replies = [asks(("f", {}), ("f", {})), asks(("f", {})), says("one"), says("two")]
        agent = agent_of(*replies, tools=[tool_of("f", body, concurrency_safe=safe)])
        task = asyncio.create_task(agent.run("go"))
        for _ in range(turns):
            await asyncio.sleep(0)
        ended.append(not task.cancel())
        await asyncio.gather(task, return_exceptions=True)
        assert running == []
        assert conversation_fault(list(agent.transcript)) is None
        if len(agent.transcript):
            await agent.run("again")
            assert conversation_fault(agent.model.requests[-1].messages) is None
    assert ended[0] is False
    assert ended[-1] is True


# --- a broken box, and other ends ------------------------------------------------------------


@pytest.mark.parametrize("safe", [True, False])
async def test_a_broken_box_raises_with_the_conversation_whole(safe: bool) -> None:
    async def body(arguments: dict[str, Any], execution: Execution) -> str:
        if execution.call_id == "c2":
            raise LostError("the box ended")
        return "x"

    agent = agent_of(asks(*[("f", {})] * 4), tools=[tool_of("f", body, concurrency_safe=safe)])
    seen = Recorder(agent.events)
    with pytest.raises(LostError):
        await agent.run("go")
    assert conversation_fault(list(agent.transcript)) is None
    assert [p.status for p in seen.of("run/end")] == ["infrastructure"]
    assert "outcome is unknown" in agent.transcript[3].content


async def test_one_turn_at_a_time() -> None:
    gate = asyncio.Event()

    async def answer() -> Reply:
        await gate.wait()
        return says("ok")

    agent = Agent(Model(lambda _: answer()))
    first = asyncio.create_task(agent.run("a"))
    await asyncio.sleep(0)
    with pytest.raises(HarnessError, match="one turn at a time"):
        await agent.run("b")
    gate.set()
    assert (await first).answer == "ok"


def test_an_agent_runs_without_asyncio_around_it() -> None:
    assert agent_of(says("ok")).run_sync("go").answer == "ok"


async def test_events_can_be_iterated_while_it_runs() -> None:
    agent = agent_of(asks(("echo", {})), says("ok"), tools=[tool_of()])
    types = [event.type async for event in agent.stream("go")]
    assert types[0] == "run/start"
    assert types[-1] == "run/end"
    assert "tool/result" in types


async def test_a_stream_that_is_left_ends_the_run() -> None:
    async def hang(*_: Any) -> None:
        await asyncio.Event().wait()

    agent = agent_of(asks(("f", {})), tools=[tool_of("f", hang)])
    stream = agent.stream("go")
    async for event in stream:
        if event.type == "tool/call":
            break
    await stream.aclose()
    assert agent._running is False


async def test_a_model_that_repeats_itself_is_told_three_times() -> None:
    agent = agent_of(*[asks(("echo", {"text": "a"}))] * 9, says("ok"), tools=[tool_of()])
    result = await agent.run("go")
    notes = [m.text for m in result.messages if isinstance(m, User) and m.origin == "context"]
    assert [n.split(" times")[0].split()[-1] for n in notes] == ["3", "5", "8"]
    assert result.spent.tool_calls == 9


# --- any script at all -----------------------------------------------------------------------

CALLS = st.builds(
    lambda name, raw: (name, raw),
    st.sampled_from(
        ["ok", "bad", "hang", "deny", "none", "stop", "safe", "slow", "capped", "asked", "end"]
    ),
    st.sampled_from(["{}", "{", "[]", '{"text": "x"}', '{"text": 1}']),
)
REPLIES = st.one_of(
    st.lists(CALLS, min_size=1, max_size=5).map(
        lambda pairs: Reply(
            "", tuple(ToolCall(f"c{n}", name, raw) for n, (name, raw) in enumerate(pairs))
        )
    ),
    st.sampled_from(
        [
            Reply("answer"),
            Reply(None),  # type: ignore[arg-type]
            Reply("", (ToolCall("", "ok"),)),
            Reply("", (ToolCall("c", "ok"), ToolCall("c", "ok"))),
            Reply("", (ToolCall("c", "ok", None),)),  # type: ignore[arg-type]
            Reply("", {"c": "ok"}),  # type: ignore[arg-type]
            Reply("cut", cut=True),
        ]
    ),
)
ANSWERS = st.lists(st.sampled_from(["yes", "no", "raise", "late", "cancel"]), max_size=4)


class Stage:
    """Tools of every temper, and a tally of the bodies that they started."""

    def __init__(self, signal: Signal) -> None:
        self.signal = signal
        self.started: list[str] = []
        self.running = 0
        self.most = 0
        self.over = False

    def tools(self) -> list[Tool]:
        return [
            self.tool("ok", self.ok),
            self.tool("asked", self.ok),
            self.tool("capped", self.ok),
            self.tool("safe", self.ok, concurrency_safe=True),
            self.tool("slow", self.slow, concurrency_safe=lambda given: "text" in given),
            self.tool("bad", self.bad),
            self.tool("hang", self.hang, timeout_seconds=0.001),
            self.tool("stop", self.stop),
            self.tool("end", self.ok, ends_run=True),
            self.tool("deny", self.ok),
        ]

    def tool(self, name: str, work: Any, **more: Any) -> Tool:
        async def body(arguments: dict[str, Any], execution: Execution) -> Any:
            assert not self.over, "a body started after the run had ended"
            self.started.append(name)
            self.running += 1
            self.most = max(self.most, self.running)
            try:
                return await work()
            finally:
                self.running -= 1

        return tool_of(name, body, **more)

    async def ok(self) -> str:
        await asyncio.sleep(0)
        return "ok"

    async def slow(self) -> str:
        for _ in range(5):
            await asyncio.sleep(0)
        return "slow"

    async def bad(self) -> None:
        raise ValueError("bad")

    async def hang(self) -> None:
        await asyncio.Event().wait()

    async def stop(self) -> str:
        self.signal.cancel()
        return "stopped"


class Operator:
    """Answers questions as the script says; nobody answers when it is used up."""

    name = "operator"

    def __init__(self, answers: list[str], signal: Signal) -> None:
        self.answers = answers
        self.signal = signal
        self.asked: list[str] = []

    async def ask(self, request: Any, /) -> Any:
        self.asked.append(request.call_id)
        answer = self.answers.pop(0) if self.answers else "late"
        if answer == "raise":
            raise ValueError("no terminal")
        if answer == "cancel":
            self.signal.cancel()
        if answer in ("late", "cancel"):
            await asyncio.Event().wait()
        return answer == "yes"


@settings(deadline=None, max_examples=80)
@given(
    replies=st.lists(REPLIES, max_size=6),
    answers=ANSWERS,
    steps=st.integers(1, 5),
    calls=st.integers(1, 6),
    cap=st.integers(1, 2),
    pool=st.integers(1, 3),
    cancel_at=st.integers(0, 40),
)
def test_whatever_the_script_the_conversation_is_valid_and_the_counters_match(
    replies: list[Reply],
    answers: list[str],
    steps: int,
    calls: int,
    cap: int,
    pool: int,
    cancel_at: int,
) -> None:
    async def run() -> None:
        signal = Signal()
        stage, operator = Stage(signal), Operator(answers, signal)
        allowed = ["ok", "safe", "slow", "bad", "hang", "stop", "capped", "end"]
        judge = TableJudge(tools=dict.fromkeys(allowed, "allow") | {"asked": "ask"})
        agent = Agent(
            ScriptedModel(replies),
            tools=stage.tools(),
            policy=judge,
            approver=operator,
            budget=Budget(steps=steps, tool_calls=calls, per_tool={"capped": cap}),
            signal=signal,
            pool=pool,
            grace_seconds=0.001,
            answer_seconds=0.001,
        )
        events: list[Event] = []

        def listen(event: Event) -> None:
            events.append(event)
            if len(events) == cancel_at:
                signal.cancel()

        agent.events.subscribe(listen)
        status = None
        try:
            result = await agent.run("go")
            status = result.status
            assert result.steps == agent.ledger.steps
            assert (result.answer is not None) is (status == "completed")
        except (ModelError, MalformedReplyError):
            status = "model_error"
        stage.over = True
        before = len(events), len(stage.started), len(agent.transcript)
        for _ in range(8):  # whatever was left behind would show itself now
            await asyncio.sleep(0)
        assert before == (len(events), len(stage.started), len(agent.transcript))
        assert stage.running == 0
        messages = list(agent.transcript)
        assert conversation_fault(messages) is None
        kinds = [event.type for event in events]
        results = [event.payload for event in events if event.type == "tool/result"]
        assert kinds.count("tool/call") == len(results)
        assert len(results) == sum(isinstance(m, ToolMessage) for m in messages)
        assert kinds.count("model/reply") == agent.ledger.steps <= steps
        assert len(stage.started) == agent.ledger.tool_calls <= calls
        assert stage.started.count("capped") <= cap
        assert "deny" not in stage.started
        assert stage.most <= pool
        asked, decided = kinds.count("approval/asked"), kinds.count("approval/decided")
        # cancelled on hearing of the question, or of what came right before it
        withheld = cancel_at > 0 and "approval/asked" in kinds[cancel_at - 1 : cancel_at + 1]
        assert asked == decided == len(operator.asked) + withheld
        assert kinds.count("run/end") == 1
        assert kinds[-1] == "run/end"
        assert events[-1].payload.status == status  # type: ignore[union-attr]

    asyncio.run(run())


async def test_a_loop_of_ones_own_parts_records_the_conversation_from_its_beginning() -> None:
    events = Events()
    seen = Recorder(events)
    transcript = Transcript([System("be brief"), User("go")])
    pipeline = Pipeline(Registry([tool_of()]), events=events)
    model = ScriptedModel([asks(("echo", {"text": "a"})), says("ok")])
    result = await run_loop(model, pipeline, transcript)
    assert (result.status, result.answer, result.steps) == ("completed", "ok", 2)
    first, second = [[one["text"] for one in p.added] for p in seen.of("model/request")]
    assert (first, second) == (["be brief", "go"], [])


async def test_what_happens_after_a_run_belongs_to_no_step() -> None:
    agent = agent_of(asks(("echo", {"text": "a"})), says("ok"), tools=[tool_of()])
    await agent.run("go")
    assert current_step.get() == 0


async def test_a_conversation_that_had_ended_already_ends_as_it_did() -> None:
    agent = agent_of(says("never asked"))
    agent.transcript.extend([User("go"), Assistant("done")])
    result = await agent.go_on(told=2, ended=("completed", "done"))
    whole = LoopResult("completed", [User("go"), Assistant("done")], 0, "done", Spent(), 0, 0)
    assert result == whole
