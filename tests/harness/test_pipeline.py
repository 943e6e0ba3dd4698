"""One call, from the model's text to the result."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from harness.arguments import CallFormError, parse_call, parse_calls
from harness.artifact import ArtifactStore
from harness.budget import Budget, Ledger
from harness.bus import Events
from harness.errors import RegistrationError
from harness.hook import Accept, Allow, Ask, Block, CallInfo, Deny, Draft
from harness.message import ToolCall
from harness.pipeline import Pipeline
from harness.registry import Registry
from harness.result import Failure, FailureKind, Success, render_json
from harness.signal import Signal
from harness.tool import Execution, Tool, ToolError
from tests.harness.doubles import Recorder, TableJudge, call, tool_of

NUMBER = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


class Ran:
    """A body that says whether it ran."""

    def __init__(self, answer: object = "done") -> None:
        self.times = 0
        self.answer = answer

    async def __call__(self, arguments: dict[str, Any], execution: Execution) -> Any:
        self.times += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        if callable(self.answer):
            return self.answer(arguments)
        return self.answer


def pipeline_of(*tools: Tool, **settings: Any) -> Pipeline:
    return Pipeline(Registry(tools), **settings)


# --- parsing ---------------------------------------------------------------------------------

EXPECTED = ToolCall("c7", "read", '{"path": "a"}')


@pytest.mark.req("S-29", "S-33")
def test_a_providers_object_becomes_a_call() -> None:
    function = SimpleNamespace(name="read", arguments='{"path": "a"}')
    assert parse_call(SimpleNamespace(id="c7", type="function", function=function)) == EXPECTED


@pytest.mark.req("S-30")
def test_json_text_becomes_the_same_call() -> None:
    assert parse_call('{"id": "c7", "name": "read", "arguments": {"path": "a"}}') == EXPECTED


@pytest.mark.req("S-31")
@pytest.mark.parametrize(
    "envelope",
    [
        {
            "choices": [
                {
                    "message": {
                        "tool_calls": [
                            {"id": "c7", "function": {"name": "read", "arguments": '{"path": "a"}'}}
                        ]
                    }
                }
            ]
        },
        {
            "content": [
                {"type": "text", "text": "hm"},
                {"type": "tool_use", "id": "c7", "name": "read", "input": {"path": "a"}},
            ]
        },
    ],
)
def test_the_calls_of_a_response_are_taken_out_of_it(envelope: object) -> None:
    assert parse_calls(envelope) == (EXPECTED,)


@pytest.mark.req("S-32")
def test_a_fake_providers_call_is_read_like_a_real_one() -> None:
    fake = {"id": "c7", "tool": "read", "args": {"path": "a"}}
    real = {"id": "c7", "function": {"name": "read", "arguments": '{"path": "a"}'}}
    assert parse_call(fake) == parse_call(real) == parse_call(EXPECTED)


@pytest.mark.parametrize("source", ["{", "[]", {}, {"name": ""}, None])
def test_what_is_no_call_is_said(source: object) -> None:
    with pytest.raises(CallFormError):
        parse_call(source)


@pytest.mark.req("S-34", "S-35")
@pytest.mark.parametrize(("raw", "expected"), [('{"text": "a"}', "a"), ("", ""), ("  ", "")])
async def test_arguments_are_decoded_and_empty_text_is_an_empty_object(
    raw: str, expected: str
) -> None:
    result = await pipeline_of(tool_of()).call(ToolCall("c1", "echo", raw))
    assert result.value == expected


@pytest.mark.req("S-36")
@pytest.mark.parametrize("raw", ["{", "nonsense", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 100_000])
async def test_text_that_is_no_json_is_an_error_for_the_model(raw: str) -> None:
    body = Ran()
    result = await pipeline_of(tool_of(body=body)).call(ToolCall("c1", "echo", raw))
    assert result.content.startswith("Invalid arguments: echo: $: not valid JSON")
    assert body.times == 0


@pytest.mark.req("S-37")
@pytest.mark.parametrize("raw", ["[]", '"a"', "3", "null", "true"])
async def test_arguments_that_are_no_object_are_refused(raw: str) -> None:
    result = await pipeline_of(tool_of()).call(ToolCall("c1", "echo", raw))
    assert result.content == "Invalid arguments: echo: $: must be an object"


@pytest.mark.req("S-38")
async def test_the_id_of_a_call_comes_back_unchanged() -> None:
    result = await pipeline_of(tool_of()).call(call("echo", {}, " Odd/id:7 "))
    assert result.call_id == " Odd/id:7 "


# --- validation ------------------------------------------------------------------------------


@pytest.mark.req("S-39", "S-52")
@pytest.mark.parametrize("given", [{}, {"n": "1"}, {"n": 1, "m": 2}, {"n": True}])
async def test_no_body_sees_what_was_not_validated(given: dict[str, Any]) -> None:
    body = Ran()
    result = await pipeline_of(tool_of("f", body, parameters=NUMBER)).call(call("f", given))
    assert (result.ok, body.times) == (False, 0)


@pytest.mark.req("S-41")
async def test_a_wrong_type_is_refused() -> None:
    result = await pipeline_of(tool_of()).call(call("echo", {"text": 3}))
    assert result.content == "Invalid arguments: echo: $.text: must be a string, not an integer"


@pytest.mark.req("S-48")
async def test_all_violations_come_in_one_message_in_order() -> None:
    result = await pipeline_of(tool_of("f", parameters=NUMBER)).call(call("f", {"x": 1, "y": 2}))
    assert result.content == (
        "Invalid arguments: f: $.n: is required, but missing; "
        "$.x: is not declared (known: n); $.y: is not declared (known: n)"
    )


@pytest.mark.req("S-53")
@pytest.mark.parametrize(
    "given",
    [
        {"when": "2026-01-01"},
        {"when": "2026-01-01", "limit": 5, "more": 1},
        {"when": 20260101, "limit": 5},
        {"when": "tomorrow", "limit": 5},
        {"when": "2026-01-01", "limit": 5000},
    ],
    ids=["missing", "extra", "type", "format", "range"],
)
async def test_five_kinds_of_wrong_arguments_are_caught(given: dict[str, Any]) -> None:
    schema = {
        "type": "object",
        "properties": {
            "when": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 1000},
        },
        "required": ["when", "limit"],
        "additionalProperties": False,
    }
    result = await pipeline_of(tool_of("f", parameters=schema)).call(call("f", given))
    assert result.error.kind is FailureKind.INVALID_ARGUMENTS


@pytest.mark.req("S-54", "S-55")
async def test_business_rules_are_a_second_layer_before_the_body() -> None:
    seen: list[int] = []
    body = Ran()

    def rules(arguments: dict[str, Any]) -> list[str]:
        seen.append(arguments["n"])
        return [] if 1 <= arguments["n"] <= 1000 else ["$.n: must be from 1 to 1000"]

    pipeline = pipeline_of(tool_of("f", body, parameters=NUMBER, rules=rules))
    wrong_type = await pipeline.call(call("f", {"n": "x"}))
    nonsense = await pipeline.call(call("f", {"n": -100}))
    assert wrong_type.error.kind is FailureKind.INVALID_ARGUMENTS
    assert nonsense.content == "Invalid arguments: f: $.n: must be from 1 to 1000"
    assert (seen, body.times) == ([-100], 0)


async def test_rules_that_raise_refuse() -> None:
    def rules(_: dict[str, Any]) -> list[str]:
        raise KeyError("x")

    body = Ran()
    result = await pipeline_of(tool_of("f", body, rules=rules)).call(call("f"))
    assert (result.error.kind, body.times) == (FailureKind.INVALID_ARGUMENTS, 0)


# --- order -----------------------------------------------------------------------------------


@pytest.mark.req("S-56", "S-58", "S-60")
async def test_the_stages_come_in_their_order() -> None:
    order: list[str] = []

    async def before(_: CallInfo, call_next: Any) -> Any:
        order.append("before")
        return await call_next()

    async def around(_: CallInfo, call_next: Any) -> Any:
        order.append("around")
        outcome = await call_next()
        order.append("around out")
        return outcome

    async def after(_: CallInfo, draft: Draft, call_next: Any) -> Any:
        order.append("after")
        return await call_next()

    class Judging(TableJudge):
        def judge_tool(self, *args: Any, **kwargs: Any) -> Any:
            order.append("verdict")
            return super().judge_tool(*args, **kwargs)

    class Asked:
        name = "me"

        async def ask(self, request: Any, /) -> bool:
            order.append("approval")
            return True

    def said(word: str, value: Any) -> Callable[..., Any]:
        def step(*_: Any) -> Any:
            order.append(word)
            return value

        return step

    body = said("body", "x")
    tool = tool_of(
        "f",
        body,
        inline=True,
        rules=said("rules", ()),
        render=said("render", "x"),
        finalize=said("finalize", "x"),
    )
    pipeline = pipeline_of(tool, judge=Judging(tools={"f": "ask"}), approver=Asked())
    pipeline.hooks.before(before)
    pipeline.hooks.wrap(around)
    pipeline.hooks.after(after)
    pipeline.hooks.guard(said("guard", None))
    pipeline.hooks.observe(said("observer", None))
    await pipeline.call(call("f"))
    assert order == [
        "rules", "before", "verdict", "approval", "guard", "around", "body", "around out",
        "render", "after", "finalize", "observer",
    ]  # fmt: skip


@pytest.mark.req("S-59")
async def test_a_notification_of_the_result_is_the_last_gate() -> None:
    pipeline = pipeline_of(tool_of())
    seen = Recorder(pipeline.events)
    await pipeline.call(call("echo"))
    assert seen.types == ["tool/call", "tool/result"]


@pytest.mark.req("S-57")
@pytest.mark.parametrize("name", ["echo", "missing"])
@pytest.mark.parametrize("raw", ["{}", "{", '{"text": 1}'])
async def test_every_call_has_a_check_before_and_a_result_after(name: str, raw: str) -> None:
    pipeline = pipeline_of(tool_of())
    seen = Recorder(pipeline.events)
    result = await pipeline.call(ToolCall("c1", name, raw))
    assert seen.types == ["tool/call", "tool/result"]
    assert result.call_id == "c1"


# --- pre-execute -----------------------------------------------------------------------------


@pytest.mark.req("S-61")
async def test_without_a_listener_a_call_is_allowed() -> None:
    assert (await pipeline_of(tool_of()).call(call("echo", {"text": "a"}))).value == "a"


def deciding(decision: Any) -> Any:
    async def hook(_: CallInfo, call_next: Any) -> Any:
        return decision

    return hook


@pytest.mark.req("S-62")
@pytest.mark.parametrize(
    ("decision", "kind"),
    [
        (Allow(), None),
        (Deny("no"), FailureKind.DENIED),
        (Ask("sure?"), FailureKind.DENIED),
        ("yes", FailureKind.DENIED),
        (None, FailureKind.DENIED),
    ],
)
async def test_only_the_three_decisions_count(decision: Any, kind: FailureKind | None) -> None:
    body = Ran()
    pipeline = pipeline_of(tool_of("f", body))
    pipeline.hooks.before(deciding(decision))
    result = await pipeline.call(call("f"))
    assert (None if result.ok else result.error.kind) is kind
    assert body.times == (kind is None)


@pytest.mark.req("S-63")
async def test_a_denial_without_delegation_ends_the_chain() -> None:
    asked: list[str] = []

    async def later(_: CallInfo, call_next: Any) -> Any:
        asked.append("later")
        return await call_next()

    body = Ran()
    pipeline = pipeline_of(tool_of("f", body))
    pipeline.hooks.before(deciding(Deny("not on Mondays")))
    pipeline.hooks.before(later)
    result = await pipeline.call(call("f"))
    assert result.content == "Denied: f: not on Mondays"
    assert (asked, body.times) == ([], 0)


@pytest.mark.req("S-64")
async def test_a_listener_that_only_observes_changes_nothing() -> None:
    seen: list[Any] = []

    async def observer(info: CallInfo, call_next: Any) -> Any:
        decision = await call_next()
        seen.append((info.name, decision))
        return decision

    pipeline = pipeline_of(tool_of())
    pipeline.hooks.before(observer)
    pipeline.hooks.before(deciding(Deny("no")))
    result = await pipeline.call(call("echo"))
    assert (result.ok, seen) == (False, [("echo", Deny("no"))])


@pytest.mark.req("S-68", "S-238")
async def test_a_policy_listener_refuses_a_calculator_call_with_999() -> None:
    async def no_999(info: CallInfo, call_next: Any) -> Any:
        return Deny("999 is forbidden") if "999" in info.raw else await call_next()

    add = tool_of("calculator", lambda a, _: a["n"] + 1, parameters=NUMBER, inline=True)
    pipeline = pipeline_of(add)
    dispose = pipeline.hooks.before(no_999)
    good = await pipeline.call(call("calculator", {"n": 1}))
    bad = await pipeline.call(call("calculator", {"n": 999}))
    dispose()
    after = await pipeline.call(call("calculator", {"n": 999}))
    assert (good.value, bad.content, after.value) == (
        2,
        "Denied: calculator: 999 is forbidden",
        1000,
    )


async def test_a_raising_pre_hook_fails_its_call_and_skips_post_execute() -> None:
    posts: list[str] = []

    async def broken(_: CallInfo, call_next: Any) -> Any:
        raise RuntimeError("oops")

    async def after(_: CallInfo, draft: Draft, call_next: Any) -> Any:
        posts.append("after")
        return await call_next()

    body = Ran()
    pipeline = pipeline_of(tool_of("f", body))
    pipeline.hooks.before(broken)
    pipeline.hooks.after(after)
    result = await pipeline.call(call("f"))
    assert (result.error.code, body.times, posts) == ("HOOK_FAILED", 0, [])


async def test_hooks_see_unknown_names_too() -> None:
    seen: list[tuple[str, bool]] = []

    async def watch(info: CallInfo, call_next: Any) -> Any:
        seen.append((info.name, info.known))
        return await call_next()

    pipeline = pipeline_of(tool_of())
    pipeline.hooks.before(watch)
    await pipeline.call(call("nothing"))
    assert seen == [("nothing", False)]


async def test_hooks_cannot_rewrite_arguments() -> None:
    async def rewrite(info: CallInfo, call_next: Any) -> Any:
        info.arguments["text"] = "b"  # type: ignore[index]
        return await call_next()

    pipeline = pipeline_of(tool_of())
    pipeline.hooks.before(rewrite)
    result = await pipeline.call(call("echo", {"text": "a"}))
    assert result.error.type == "TypeError"


# --- guards ----------------------------------------------------------------------------------


@pytest.mark.req("S-76")
async def test_a_guards_reason_denies() -> None:
    body = Ran()
    pipeline = pipeline_of(tool_of("f", body))
    pipeline.hooks.guard(lambda info: f"no {info.name} today")
    result = await pipeline.call(call("f"))
    assert (result.content, body.times) == ("Denied: f: no f today", 0)


@pytest.mark.req("S-77", "S-78")
@pytest.mark.parametrize("first", [True, False])
async def test_nothing_turns_a_guards_denial_into_permission(first: bool) -> None:
    body = Ran()
    pipeline = pipeline_of(tool_of("f", body), approver=Yes())

    async def overrule(_: CallInfo, draft: Draft, call_next: Any) -> Any:
        return Accept(value="allowed after all")

    for attach in (
        lambda: pipeline.hooks.before(deciding(Allow()), prepend=first),
        lambda: pipeline.hooks.guard(lambda _: "never"),
        lambda: pipeline.hooks.before(deciding(Ask("?")), prepend=not first),
        lambda: pipeline.hooks.after(overrule),
    ):
        attach()
    result = await pipeline.call(call("f"))
    assert (result.ok, result.value, body.times) == (False, None, 0)


class Yes:
    name = "yes"

    def __init__(self) -> None:
        self.asked = 0

    async def ask(self, request: Any, /) -> bool:
        self.asked += 1
        return True


@pytest.mark.req("S-79", "S-80")
async def test_approval_and_guards_both_come_before_the_body_and_stay_apart() -> None:
    body, yes = Ran(), Yes()
    pipeline = pipeline_of(tool_of("f", body), approver=yes)
    pipeline.hooks.before(deciding(Ask("?")))
    dispose = pipeline.hooks.guard(lambda _: "standing policy")
    refused = await pipeline.call(call("f"))
    dispose()
    allowed = await pipeline.call(call("f"))
    assert (refused.ok, allowed.ok, yes.asked, body.times) == (False, True, 2, 1)


@pytest.mark.parametrize("guard", [lambda _: "", lambda _: 1 / 0])
async def test_an_empty_reason_and_a_raising_guard_deny(guard: Any) -> None:
    body = Ran()
    pipeline = pipeline_of(tool_of("f", body))
    pipeline.hooks.guard(guard)
    result = await pipeline.call(call("f"))
    assert (result.error.kind, body.times) == (FailureKind.DENIED, 0)


@pytest.mark.req("S-81", "S-189")
async def test_a_denial_is_a_failed_result_for_the_model_and_in_the_feed() -> None:
    pipeline = pipeline_of(tool_of("f"), judge=TableJudge())
    seen = Recorder(pipeline.events)
    result = await pipeline.call(call("f"))
    [told] = seen.of("tool/result")
    assert result.content == "Denied: f: no rule names f [tool-denied]"
    assert (told.ok, told.content, told.error["kind"]) == (False, result.content, "denied")


# --- the body --------------------------------------------------------------------------------


@pytest.mark.req("S-07")
async def test_a_coroutine_body_is_awaited() -> None:
    async def body(arguments: dict[str, Any], _: Execution) -> str:
        await asyncio.sleep(0)
        return "later"

    assert (await pipeline_of(tool_of("f", body)).call(call("f"))).value == "later"


async def test_a_plain_body_does_not_hold_up_the_event_loop() -> None:
    ticks: list[int] = []

    async def tick() -> None:
        while True:
            ticks.append(1)
            await asyncio.sleep(0.001)

    ticking = asyncio.create_task(tick())
    result = await pipeline_of(tool_of("f", lambda *_: time.sleep(0.05) or "slept")).call(call("f"))
    ticking.cancel()
    assert result.value == "slept"
    assert len(ticks) > 3


@pytest.mark.req("S-82", "S-83")
async def test_a_body_over_its_limit_ends_as_an_error_that_names_tool_and_limit() -> None:
    async def forever(_: Any, __: Any) -> None:
        await asyncio.Event().wait()

    pipeline = pipeline_of(tool_of("slow", forever, timeout_seconds=0.02), tool_of())
    batch = await pipeline.run([call("slow"), call("echo", {"text": "on"}, "c2")])
    slow, echo = batch.results
    assert slow.content == "Timed out: slow: no result within its limit of 0.02 s"
    assert (slow.error.code, echo.value) == ("TIMEOUT", "on")


@pytest.mark.req("S-83")
async def test_a_body_that_refuses_to_stop_is_left_behind_and_said_so() -> None:
    stop = asyncio.Event()

    async def stubborn(_: Any, __: Any) -> None:
        while not stop.is_set():
            try:
                await stop.wait()
            except asyncio.CancelledError:
                continue

    pipeline = pipeline_of(tool_of("f", stubborn, timeout_seconds=0.01), grace_seconds=0.01)
    result = await pipeline.call(call("f"))
    stop.set()
    assert "did not stop and may still be running" in result.content


@pytest.mark.req("S-84")
async def test_no_timer_lingers_after_a_body_in_time() -> None:
    loop = asyncio.get_running_loop()
    before = len(loop._scheduled)  # type: ignore[attr-defined]
    await pipeline_of(tool_of("f", Ran(), timeout_seconds=1000)).call(call("f"))
    live = [timer for timer in loop._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
    assert len(live) <= before


@pytest.mark.req("S-85", "S-172")
async def test_the_runs_signal_reaches_the_body() -> None:
    signal = Signal()

    async def body(_: Any, execution: Execution) -> str:
        signal.cancel()
        execution.signal.check()
        return "not reached"

    result = await pipeline_of(tool_of("f", body)).call(call("f"), signal=signal)
    assert result.error.kind is FailureKind.ABORTED


@pytest.mark.req("S-86")
@pytest.mark.parametrize("cancelled", ["original", "substitute"])
async def test_a_wrappers_signal_and_the_original_both_reach_the_body(cancelled: str) -> None:
    original, substitute = Signal(), Signal()
    started = asyncio.Event()

    async def body(_: Any, execution: Execution) -> str:
        started.set()
        stopped = asyncio.Event()
        execution.signal.subscribe(stopped.set)
        await stopped.wait()
        return "stopped"

    async def swap(_: CallInfo, call_next: Any) -> Any:
        return await call_next(substitute)

    pipeline = pipeline_of(tool_of("f", body))
    pipeline.hooks.wrap(swap)
    running = asyncio.create_task(pipeline.call(call("f"), signal=original))
    await started.wait()
    (original if cancelled == "original" else substitute).cancel()
    result = await running
    assert result.error.kind is FailureKind.ABORTED


@pytest.mark.req("S-66")
async def test_an_execute_hook_can_add_a_timeout() -> None:
    async def forever(_: Any, __: Any) -> None:
        await asyncio.Event().wait()

    async def impatient(info: CallInfo, call_next: Any) -> Any:
        signal = Signal()
        asyncio.get_running_loop().call_later(0.01, signal.cancel, "too slow")
        outcome = await call_next(signal)
        if signal.cancelled:
            return Failure(FailureKind.TIMEOUT, f"{info.name}: too slow")
        return outcome

    pipeline = pipeline_of(tool_of("f", forever), grace_seconds=0.01)
    pipeline.hooks.wrap(impatient)
    assert (await pipeline.call(call("f"))).content == "Timed out: f: too slow"


@pytest.mark.req("S-67")
async def test_retry_and_metrics_are_added_without_touching_tool_or_pipeline() -> None:
    answers = iter([RuntimeError("flaky"), RuntimeError("flaky"), "at last"])
    times: list[str] = []

    async def flaky(_: Any, __: Any) -> Any:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def retry(_: CallInfo, call_next: Any) -> Any:
        for _attempt in range(3):
            outcome = await call_next()
            if isinstance(outcome, Success):
                break
        return outcome

    async def metric(_: CallInfo, call_next: Any) -> Any:
        outcome = await call_next()
        times.append(type(outcome).__name__)
        return outcome

    pipeline = pipeline_of(tool_of("f", flaky))
    pipeline.hooks.wrap(retry)
    pipeline.hooks.wrap(metric)
    result = await pipeline.call(call("f"))
    assert (result.value, times) == ("at last", ["Failure", "Failure", "Success"])
    assert pipeline.ledger.tool_calls == 3


async def test_each_retry_takes_one_from_the_budget() -> None:
    async def stubborn(_: CallInfo, call_next: Any) -> Any:
        outcomes = [await call_next() for _ in range(5)]
        return outcomes[-1]

    body = Ran()
    pipeline = pipeline_of(tool_of("f", body), ledger=Ledger(Budget(tool_calls=2)))
    pipeline.hooks.wrap(stubborn)
    result = await pipeline.call(call("f"))
    assert (body.times, result.error.kind) == (2, FailureKind.OVER_BUDGET)


async def test_a_hook_that_takes_a_call_over_gives_the_reservation_back() -> None:
    async def cached(_: CallInfo, call_next: Any) -> Any:
        return Success("from the cache")

    body = Ran()
    pipeline = pipeline_of(tool_of("f", body))
    pipeline.hooks.wrap(cached)
    result = await pipeline.call(call("f"))
    assert (result.value, body.times, pipeline.ledger.tool_calls) == ("from the cache", 0, 0)


@pytest.mark.req("S-65")
async def test_a_hook_on_each_point_can_intercept_let_through_and_change() -> None:
    async def upper(_: CallInfo, call_next: Any) -> Any:
        outcome = await call_next()
        return Success(outcome.value.upper())

    async def mark(_: CallInfo, draft: Draft, call_next: Any) -> Any:
        decision = await call_next()
        return Accept(content=f"<{draft.content}>", contexts=decision.contexts)

    pipeline = pipeline_of(tool_of())
    pipeline.hooks.wrap(upper)
    pipeline.hooks.after(mark)
    result = await pipeline.call(call("echo", {"text": "a"}))
    assert (result.value, result.content) == ("A", "<A>")


@pytest.mark.req("S-69", "S-70")
async def test_each_concern_has_its_point() -> None:
    """Permission before, time and retry around, conversion after: all without the executor."""
    trail: list[str] = []

    async def permission(info: CallInfo, call_next: Any) -> Any:
        trail.append("permission")
        return await call_next()

    async def timing(info: CallInfo, call_next: Any) -> Any:
        trail.append("timing")
        return await call_next()

    async def conversion(info: CallInfo, draft: Draft, call_next: Any) -> Any:
        trail.append("conversion")
        return await call_next()

    pipeline = pipeline_of(tool_of())
    undo = [
        pipeline.hooks.before(permission),
        pipeline.hooks.wrap(timing),
        pipeline.hooks.after(conversion),
    ]
    await pipeline.call(call("echo"))
    for dispose in undo:
        dispose()
    await pipeline.call(call("echo"))
    assert trail == ["permission", "timing", "conversion"]


# --- results ---------------------------------------------------------------------------------


@pytest.mark.req("S-90", "S-91", "S-92")
@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("two\nlines ", "two\nlines "),
        ({"b": 1, "a": [True, None]}, '{"b":1,"a":[true,null]}'),
        ([], "[]"),
        (3.5, "3.5"),
        (None, "null"),
        ("", ""),
    ],
)
async def test_the_text_of_a_value(value: object, content: str) -> None:
    assert (await pipeline_of(tool_of("f", Ran(value))).call(call("f"))).content == content


async def test_the_renderer_can_be_replaced_by_one_that_is_all_json() -> None:
    result = await pipeline_of(tool_of("f", Ran("a")), render=render_json).call(call("f"))
    assert result.content == '"a"'


@pytest.mark.req("S-93", "S-97")
async def test_a_success_has_the_value_and_its_rendering() -> None:
    tool = tool_of("f", Ran({"rows": [1, 2]}), render=lambda _, v: f"{len(v['rows'])} rows")
    result = await pipeline_of(tool).call(call("f"))
    assert (result.ok, result.content, result.to_dict()["result"]) == (
        True,
        "2 rows",
        {"rows": [1, 2]},
    )


@pytest.mark.req("S-03", "S-98")
async def test_the_blocks_that_render_returns_are_what_is_shown() -> None:
    tool = tool_of("f", Ran(3), render=lambda arguments, value: ["first", f"second {value}"])
    assert (await pipeline_of(tool).call(call("f"))).content == "first\nsecond 3"


@pytest.mark.req("S-94")
async def test_a_value_is_validated_frozen_and_rendered_in_this_order() -> None:
    seen: list[object] = []

    def render(_: Any, value: Any) -> str:
        seen.append(value)
        return "ok"

    tool = tool_of(
        "f",
        Ran({"items": [1]}),
        output={"type": "object", "properties": {"items": {"type": "array"}}},
        render=render,
    )
    await pipeline_of(tool).call(call("f"))
    [value] = seen
    assert isinstance(value, MappingProxyType)
    assert value == {"items": (1,)}


@pytest.mark.req("S-95")
@pytest.mark.parametrize("value", [{"n": "x"}, 3, None, {"n": float("nan")}])
async def test_a_value_that_breaks_its_schema_is_a_failure(value: object) -> None:
    rendered: list[object] = []
    tool = tool_of(
        "f",
        Ran(value),
        output={"type": "object", "properties": {"n": {"type": "number"}}},
        render=lambda _, v: rendered.append(v) or "x",
    )
    result = await pipeline_of(tool).call(call("f"))
    assert (result.error.code, rendered) == ("INVALID_OUTPUT", [])


@pytest.mark.parametrize("value", [b"raw", {1: 2}, object(), {1, 2}, float("inf")])
async def test_a_value_that_json_cannot_carry_is_a_failure(value: object) -> None:
    result = await pipeline_of(tool_of("f", Ran(value))).call(call("f"))
    assert result.error.kind is FailureKind.INVALID_OUTPUT


async def test_a_rendering_that_raises_is_a_failure() -> None:
    result = await pipeline_of(tool_of("f", Ran(1), render=lambda _, v: v["x"])).call(call("f"))
    assert result.error.kind is FailureKind.INVALID_OUTPUT


@pytest.mark.req("S-96")
async def test_a_result_cannot_be_changed_by_whoever_has_it() -> None:
    source = {"list": [1]}
    result = await pipeline_of(tool_of("f", Ran(source))).call(call("f"))
    source["list"].append(2)
    with pytest.raises(AttributeError):
        result.content = "forged"  # type: ignore[misc]
    with pytest.raises(TypeError):
        result.value["list"] = ()
    assert result.value == {"list": (1,)}


@pytest.mark.req("S-99", "S-100")
async def test_the_plain_form_of_success_and_failure() -> None:
    pipeline = pipeline_of(tool_of("f", Ran(1)), tool_of("g", Ran(ValueError("bad"))))
    good = await pipeline.call(call("f"))
    bad = await pipeline.call(call("g"))
    assert good.to_dict() == {"ok": True, "tool": "f", "result": 1}
    assert bad.to_dict() == {
        "ok": False, "tool": "g", "error_type": "ValueError", "error": "g: bad",
    }  # fmt: skip


@pytest.mark.req("S-101", "S-102")
async def test_success_and_failure_are_told_apart_the_same_way_for_all_tools() -> None:
    pipeline = pipeline_of(
        tool_of("a", Ran({"error": "as data"})), tool_of("b", Ran(ToolError("no", type="Own")))
    )
    batch = await pipeline.run([call("a"), call("b", id="c2"), call("c", id="c3")])
    assert [(r.ok, r.error and r.error.type) for r in batch.results] == [
        (True, None),
        (False, "Own"),
        (False, "UnknownTool"),
    ]


# --- post-execute ----------------------------------------------------------------------------


def posting(decision: Any) -> Any:
    async def hook(_: CallInfo, draft: Draft, call_next: Any) -> Any:
        await call_next()
        return decision

    return hook


@pytest.mark.req("S-103")
async def test_without_a_listener_a_result_is_accepted_as_it_is() -> None:
    result = await pipeline_of(tool_of()).call(call("echo", {"text": "a"}))
    assert (result.ok, result.value, result.contexts) == (True, "a", ())


@pytest.mark.req("S-104")
async def test_a_block_makes_a_failure() -> None:
    pipeline = pipeline_of(tool_of())
    pipeline.hooks.after(posting(Block("looks secret", ("be careful",))))
    result = await pipeline.call(call("echo", {"text": "a"}))
    assert (result.ok, result.value, result.content) == (False, None, "Denied: echo: looks secret")
    assert result.contexts == ("be careful",)


@pytest.mark.req("S-105")
async def test_a_replaced_value_is_rendered_anew() -> None:
    tool = tool_of("f", Ran({"n": 1}), render=lambda _, v: f"n={v['n']}")
    pipeline = pipeline_of(tool)
    pipeline.hooks.after(posting(Accept(value={"n": 2})))
    result = await pipeline.call(call("f"))
    assert (result.value, result.content) == ({"n": 2}, "n=2")


@pytest.mark.req("S-106")
async def test_the_feed_and_the_model_see_only_the_replacement_of_a_secret() -> None:
    async def replace_secret(_: CallInfo, draft: Draft, call_next: Any) -> Any:
        if draft.ok and "secret" in draft.content:
            return Accept(value="[redacted]")
        return await call_next()

    pipeline = pipeline_of(tool_of("echo", Ran("the secret is swordfish")))
    seen = Recorder(pipeline.events)
    pipeline.hooks.after(replace_secret)
    result = await pipeline.call(call("echo"))
    assert result.content == "[redacted]"
    assert "swordfish" not in repr([event.payload for event in seen.events])


@pytest.mark.req("S-107")
async def test_additional_context_stays_apart_from_the_result() -> None:
    pipeline = pipeline_of(tool_of())
    pipeline.hooks.after(posting(Accept(contexts=("the file is generated",))))
    result = await pipeline.call(call("echo", {"text": "a"}))
    assert (result.content, result.contexts) == ("a", ("the file is generated",))


@pytest.mark.parametrize("accepted", [True, False])
async def test_context_of_the_body_survives_an_accept_and_not_a_block(accepted: bool) -> None:
    async def body(_: Any, execution: Execution) -> str:
        execution.note("from the body")
        return "x"

    pipeline = pipeline_of(tool_of("f", body))
    decision = Accept(contexts=("own",)) if accepted else Block("no", ("own",))
    pipeline.hooks.after(posting(decision))
    result = await pipeline.call(call("f"))
    assert result.contexts == (("from the body", "own") if accepted else ("own",))


@pytest.mark.parametrize(
    "decision",
    [Accept(value="x", content="y"), "fine", None],
    ids=["both", "text", "nothing"],
)
async def test_a_post_decision_that_is_none_fails_the_call(decision: Any) -> None:
    pipeline = pipeline_of(tool_of())
    pipeline.hooks.after(posting(decision))
    assert (await pipeline.call(call("echo"))).error.code == "HOOK_FAILED"


async def test_a_failed_call_cannot_get_a_value() -> None:
    pipeline = pipeline_of(tool_of("f", Ran(ValueError("bad"))))
    pipeline.hooks.after(posting(Accept(value="good")))
    assert (await pipeline.call(call("f"))).ok is False


async def test_post_execute_sees_denied_calls() -> None:
    seen: list[Draft] = []

    async def watch(_: CallInfo, draft: Draft, call_next: Any) -> Any:
        seen.append(draft)
        return await call_next()

    pipeline = pipeline_of(tool_of())
    pipeline.hooks.before(deciding(Deny("no")))
    pipeline.hooks.after(watch)
    await pipeline.call(call("echo"))
    assert [draft.ok for draft in seen] == [False]


@pytest.mark.req("S-108")
@pytest.mark.parametrize("way", ["success", "raise", "deny", "invalid", "abort"])
async def test_the_final_content_transform_applies_to_every_outcome_once_and_last(way: str) -> None:
    times: list[str] = []

    def finalize(result: Any) -> str:
        times.append(result.content)
        return f"[{result.content}]"

    body = Ran(ValueError("bad") if way == "raise" else "ok")
    pipeline = pipeline_of(tool_of("f", body, finalize=finalize))
    pipeline.hooks.after(posting(Accept(content="changed")))
    if way == "deny":
        pipeline.hooks.guard(lambda _: "no")
    signal = Signal()
    if way == "abort":
        signal.cancel()
    raw = "{" if way == "invalid" else "{}"
    result = await pipeline.call(ToolCall("c1", "f", raw), signal=signal)
    assert len(times) == 1
    assert result.content == f"[{times[0]}]"
    assert result.ok is (way == "success")


@pytest.mark.parametrize("finalize", [lambda _: 1 / 0, lambda _: None])
async def test_a_final_transform_that_fails_fails_the_call(finalize: Any) -> None:
    result = await pipeline_of(tool_of(finalize=finalize)).call(call("echo", {"text": "a"}))
    assert (result.ok, result.error.code, result.value) == (False, "HOOK_FAILED", None)


@pytest.mark.req("S-109", "S-110")
async def test_observers_are_told_and_cannot_change_or_break_anything() -> None:
    told: list[str] = []

    def rewrite(_: CallInfo, result: Any) -> None:
        told.append("rewrite")
        result.content = "forged"

    def late(_: CallInfo, result: Any) -> None:
        told.append(result.content)

    async def wrong(_: CallInfo, result: Any) -> None:
        told.append("never")

    pipeline = pipeline_of(tool_of())
    for observer in (rewrite, wrong, late):
        pipeline.hooks.observe(observer)
    result = await pipeline.call(call("echo", {"text": "a"}))
    assert (result.content, told) == ("a", ["rewrite", "a"])


# --- errors as information -------------------------------------------------------------------


@pytest.mark.req("S-112", "S-120")
async def test_whatever_goes_wrong_is_a_result_and_the_next_call_works() -> None:
    pipeline = pipeline_of(tool_of("bad", Ran(RuntimeError("broke"))), tool_of())
    calls = [
        call("bad"), call("missing", id="c2"), ToolCall("c3", "echo", "{"),
        call("echo", {"text": "on"}, "c4"),
    ]  # fmt: skip
    batch = await pipeline.run(calls)
    assert [result.ok for result in batch.results] == [False, False, False, True]


@pytest.mark.req("S-113", "S-114")
async def test_an_unknown_tool_is_named_with_those_that_there_are() -> None:
    result = await pipeline_of(tool_of("read_file"), tool_of("echo")).call(call("readfile"))
    assert result.content == (
        "Unknown tool: 'readfile' is no tool here (available: read_file, echo); "
        "did you mean read_file?"
    )


@pytest.mark.req("S-115")
async def test_the_classes_of_failure_are_told_apart_by_their_text() -> None:
    pipeline = pipeline_of(tool_of("f", Ran(RuntimeError("x")), parameters=NUMBER))
    results = [
        await pipeline.call(call("g")),
        await pipeline.call(call("f", {})),
        await pipeline.call(call("f", {"n": 1})),
    ]
    assert [result.content.split(":")[0] for result in results] == [
        "Unknown tool",
        "Invalid arguments",
        "Failed",
    ]


@pytest.mark.req("S-116")
async def test_a_raising_body_is_named_with_its_message() -> None:
    result = await pipeline_of(tool_of("f", Ran(KeyError("colour")))).call(call("f"))
    assert result.content == "Failed: f: 'colour'"


class WordlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.req("S-117")
@pytest.mark.parametrize("error", [ValueError(), WordlessError(), TimeoutError()])
async def test_an_exception_without_a_message_becomes_text(error: Exception) -> None:
    result = await pipeline_of(tool_of("f", Ran(error))).call(call("f"))
    assert result.content == f"Failed: f: {type(error).__name__}"


async def test_a_host_path_does_not_reach_the_model() -> None:
    def body(_: Any, __: Any) -> None:
        open("/etc/stockade/none.toml")  # noqa: SIM115

    result = await pipeline_of(tool_of("f", body)).call(call("f"))
    assert "/etc" not in result.content
    assert "No such file or directory" in result.content


async def test_a_path_that_the_model_wrote_itself_is_shown() -> None:
    def body(arguments: Any, _: Any) -> None:
        raise RuntimeError(f"cannot use {arguments['text']} with /root/x")

    result = await pipeline_of(tool_of("f", body)).call(call("f", {"text": "/tmp/a"}))
    assert result.content == "Failed: f: cannot use /tmp/a with <path>"


async def test_a_long_message_is_cut() -> None:
    result = await pipeline_of(tool_of("f", Ran(RuntimeError("x" * 10_000)))).call(call("f"))
    assert len(result.content) < 2200
    assert "8000 of 10000 characters left out" in result.content


# --- long content ----------------------------------------------------------------------------


@pytest.mark.req("S-174", "S-175", "S-176")
async def test_content_over_the_limit_is_cut_and_says_so() -> None:
    pipeline = pipeline_of(tool_of("f", Ran("a" * 500 + "z" * 500)), content_characters=100)
    result = await pipeline.call(call("f"))
    assert len(result.content) < 250
    assert "900 of 1000 characters left out" in result.content
    assert result.content.startswith("aaaa")
    assert result.value == "a" * 500 + "z" * 500


@pytest.mark.req("S-177")
async def test_a_long_output_is_kept_whole_as_an_artifact(tmp_path) -> None:
    store = ArtifactStore(tmp_path / "artifacts")
    text = "grün\n" * 300
    pipeline = pipeline_of(tool_of("f", Ran(text)), content_characters=100, artifacts=store)
    result = await pipeline.call(call("f"))
    assert result.artifact.size == len(text.encode())
    assert result.artifact.id in result.content
    assert result.artifact.digest in result.content
    assert store.read(result.artifact.id) == text


async def test_an_artifact_that_cannot_be_kept_is_said_and_harms_nothing(tmp_path) -> None:
    (tmp_path / "file").touch()
    store = ArtifactStore(tmp_path / "file" / "below")
    pipeline = pipeline_of(tool_of("f", Ran("x" * 200)), content_characters=100, artifacts=store)
    result = await pipeline.call(call("f"))
    assert result.ok
    assert "not kept" in result.content


async def test_a_store_gives_nothing_for_what_is_no_id(tmp_path) -> None:
    store = ArtifactStore(tmp_path)
    (tmp_path / "secret.txt").write_text("x")
    assert [store.read(i) for i in ("../secret", "secret", "a-../x", "a-0", "")] == [None] * 5


# --- batches ---------------------------------------------------------------------------------


@pytest.mark.req("S-87")
async def test_calls_run_one_after_another_in_their_order() -> None:
    trail: list[str] = []

    async def body(arguments: dict[str, Any], _: Execution) -> None:
        trail.append(f"+{arguments['text']}")
        await asyncio.sleep(0.001)
        trail.append(f"-{arguments['text']}")

    calls = [call("f", {"text": t}, t) for t in "abc"]
    batch = await pipeline_of(tool_of("f", body)).run(calls)
    assert trail == ["+a", "-a", "+b", "-b", "+c", "-c"]
    assert [r.call_id for r in batch.results] == ["a", "b", "c"]


@pytest.mark.req("S-88")
async def test_safe_calls_overlap_in_a_bounded_pool_and_others_are_barriers() -> None:
    running, most, trail = 0, 0, []

    async def body(arguments: dict[str, Any], execution: Execution) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        trail.append(execution.call_id)
        await asyncio.sleep(0.001)
        running -= 1
        return execution.call_id

    async def alone(_: Any, execution: Execution) -> str:
        assert running == 0
        trail.append(execution.call_id)
        return "alone"

    pipeline = pipeline_of(
        tool_of("safe", body, concurrency_safe=True), tool_of("alone", alone), pool=3
    )
    names = ["safe"] * 5 + ["alone"] + ["safe"] * 2
    batch = await pipeline.run([call(n, {}, f"c{i}") for i, n in enumerate(names)])
    assert most == 3
    assert trail.index("c5") == 5
    assert [r.call_id for r in batch.results] == [f"c{i}" for i in range(8)]


@pytest.mark.parametrize("safe", [1, "yes", None, lambda _: 1, lambda _: 1 / 0, lambda a: a["x"]])
async def test_only_a_plain_true_lets_calls_overlap(safe: Any) -> None:
    running = 0

    async def body(_: Any, __: Any) -> None:
        nonlocal running
        running += 1
        assert running == 1
        await asyncio.sleep(0.001)
        running -= 1

    pipeline = pipeline_of(tool_of("f", body, concurrency_safe=safe))
    batch = await pipeline.run([call("f"), call("f", id="c2")])
    assert all(result.ok for result in batch.results)


async def test_a_fast_result_waits_behind_a_slow_earlier_one() -> None:
    events = Events()
    seen = Recorder(events)

    async def body(arguments: dict[str, Any], _: Execution) -> None:
        await asyncio.sleep(0.02 if arguments["text"] == "slow" else 0)

    pipeline = pipeline_of(tool_of("f", body, concurrency_safe=True), events=events)
    await pipeline.run([call("f", {"text": "slow"}, "c1"), call("f", {"text": "fast"}, "c2")])
    results = [event.call for event in seen.events if event.type == "tool/result"]
    assert results == ["c1", "c2"]


async def test_verdicts_of_a_batch_come_before_any_body() -> None:
    trail: list[str] = []

    async def before(info: CallInfo, call_next: Any) -> Any:
        trail.append(f"judge {info.id}")
        return await call_next()

    async def body(_: Any, execution: Execution) -> None:
        trail.append(f"run {execution.call_id}")

    pipeline = pipeline_of(tool_of("f", body))
    pipeline.hooks.before(before)
    await pipeline.run([call("f", id="a"), call("f", id="b")])
    assert trail == ["judge a", "judge b", "run a", "run b"]


async def test_a_body_that_cancels_itself_is_an_aborted_call() -> None:
    async def body(*_: Any) -> None:
        raise asyncio.CancelledError

    pipeline = Pipeline(Registry([tool_of("f", body), tool_of()]))
    result = await pipeline.call(call("f"))
    assert result.content == "Cancelled: f: it cancelled itself"
    assert (await pipeline.call(call("echo", {"text": "on"}))).content == "on"


async def test_the_record_of_a_result_has_its_notes() -> None:
    async def body(_: Any, execution: Execution) -> str:
        execution.note("look here")
        return "x"

    events = Events()
    seen = Recorder(events)
    await Pipeline(Registry([tool_of("f", body)]), events=events).call(call("f"))
    assert [payload.contexts for payload in seen.of("tool/result")] == [("look here",)]


async def test_whether_calls_overlap_is_asked_anew_before_each_start() -> None:
    safe, ended, at_start = True, [], []
    gate = asyncio.Event()

    async def body(arguments: dict[str, Any], execution: Execution) -> str:
        nonlocal safe
        at_start.append((execution.call_id, list(ended)))
        if execution.call_id == "c1":
            safe = False
            asyncio.get_running_loop().call_later(0.01, gate.set)
        elif execution.call_id == "c2":
            await gate.wait()
        ended.append(execution.call_id)
        return "x"

    tool = tool_of("f", body, concurrency_safe=lambda _: safe)
    pipeline = Pipeline(Registry([tool]), pool=2)
    await pipeline.run([call("f", {}, f"c{n}") for n in (1, 2, 3)])
    assert at_start == [("c1", []), ("c2", ["c1"]), ("c3", ["c1", "c2"])]


async def test_a_free_place_in_the_pool_is_taken_while_a_slow_first_call_runs() -> None:
    gate, order = asyncio.Event(), []

    async def body(arguments: dict[str, Any], execution: Execution) -> str:
        order.append(execution.call_id)
        if execution.call_id == "c1":
            await gate.wait()
        if execution.call_id == "c4":
            gate.set()
        return execution.call_id

    pipeline = Pipeline(Registry([tool_of("f", body, concurrency_safe=True)]), pool=2)
    batch = await pipeline.run([call("f", {}, f"c{n}") for n in (1, 2, 3, 4)])
    assert order == ["c1", "c2", "c3", "c4"]
    assert [result.content for result in batch.results] == ["c1", "c2", "c3", "c4"]


@pytest.mark.parametrize("change", ["removed", "replaced"])
async def test_a_tool_that_a_call_of_the_batch_took_away_is_not_run(change: str) -> None:
    ran: list[str] = []
    registry = Registry([tool_of("f", lambda *_: ran.append("old"), inline=True)])

    def swap(*_: Any) -> str:
        registry.unregister("f")
        if change == "replaced":
            registry.register(tool_of("f", lambda *_: ran.append("new"), inline=True))
        return "ok"

    registry.register(tool_of("swap", swap, inline=True))
    pipeline = Pipeline(registry)
    batch = await pipeline.run([call("swap", {}, "c1"), call("f", {}, "c2")])
    assert (ran, pipeline.ledger.tool_calls) == ([], 1)
    assert batch.results[1].content == (
        f"Unknown tool: f: not executed, the tool was {change} since the call was looked at"
    )
    assert batch.results[1].error.code == "TOOL_CHANGED"


def test_a_hook_must_be_callable() -> None:
    with pytest.raises(RegistrationError):
        pipeline_of(tool_of()).hooks.before("no")  # type: ignore[arg-type]


async def test_the_duration_is_that_of_the_body() -> None:
    async def body(_: Any, __: Any) -> None:
        await asyncio.sleep(0.01)

    result = await pipeline_of(tool_of("f", body)).call(call("f"))
    assert result.duration_seconds >= 0.009


async def test_every_event_of_a_call_has_the_step_that_it_was_given() -> None:
    events = Events()
    seen = Recorder(events)
    pipeline = pipeline_of(tool_of(), events=events, judge=TableJudge(tools={"echo": "allow"}))
    await pipeline.run([call("echo", {"text": "a"})], step=7)
    assert [(event.type, event.step, event.call) for event in seen.events] == [
        ("tool/call", 7, "c1"),
        ("tool/verdict", 7, "c1"),
        ("tool/result", 7, "c1"),
    ]
