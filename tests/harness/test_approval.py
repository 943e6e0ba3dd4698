"""Questions to the operator, and who answers them."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
from typing import Any

import pytest

from harness.approval import (
    Answer,
    ApprovalRequest,
    CallableApprover,
    NoApprover,
    Reply,
)
from harness.approvers import PolicyFileApprover, TerminalApprover, WebhookApprover, visible
from harness.budget import Budget, Ledger
from harness.errors import ConfigError
from harness.hook import Ask, CallInfo
from harness.pipeline import Pipeline
from harness.registry import Registry
from harness.result import FailureKind
from harness.signal import Signal
from tests.harness.doubles import Recorder, TableJudge, call, tool_of

REQUEST = ApprovalRequest(
    "run_command", "c1", "git push", "pushes", arguments='{"argv": ["git", "push"]}'
)


def asking(approver: Any = None, body: Any = None, **settings: Any) -> Pipeline:
    judge = TableJudge(tools={"f": "ask"})
    return Pipeline(Registry([tool_of("f", body)]), judge=judge, approver=approver, **settings)


class Answering:
    name = "double"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[ApprovalRequest] = []

    async def ask(self, request: ApprovalRequest, /) -> Any:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.req("S-71")
@pytest.mark.parametrize("approver", [None, NoApprover()])
async def test_a_question_that_nobody_can_answer_is_a_no_with_its_reason(approver: Any) -> None:
    ran: list[int] = []
    pipeline = asking(approver, lambda *_: ran.append(1))
    batch = await pipeline.run([call("f")])
    [result] = batch.results
    assert result.content.startswith("Denied: f: approval needed (may f run?), nobody answered")
    assert (ran, batch.denials, batch.unanswered) == ([], 1, 1)


@pytest.mark.req("S-72")
async def test_one_question_a_call_and_a_yes_covers_one_call() -> None:
    approver = Answering(True, False)
    pipeline = asking(approver)
    first = await pipeline.call(call("f"))
    second = await pipeline.call(call("f"))
    assert (first.ok, second.ok, len(approver.asked)) == (True, False, 2)


async def test_the_one_who_is_asked_sees_the_whole_question() -> None:
    approver = Answering(True)
    judge = TableJudge(tools={"f": "ask"})
    tool = tool_of("f", tier="write")
    await Pipeline(Registry([tool]), judge=judge, approver=approver).call(call("f", '{"text":"x"}'))
    [request] = approver.asked
    assert request == ApprovalRequest(
        tool="f",
        call_id="c1",
        summary='f {"text":"x"}',
        reason="may f run?",
        rule="f-rule",
        tier="write",
        arguments='{"text":"x"}',
        signal=request.signal,
    )


async def test_a_hook_and_the_policy_together_ask_once() -> None:
    async def hook(_: CallInfo, call_next: Any) -> Any:
        return Ask("it is late")

    approver = Answering(True)
    pipeline = asking(approver)
    pipeline.hooks.before(hook)
    assert (await pipeline.call(call("f"))).ok
    assert [request.reason for request in approver.asked] == ["it is late; may f run?"]


@pytest.mark.req("S-73")
@pytest.mark.parametrize(("answer", "ok"), [(True, True), (False, False)])
async def test_a_call_waits_for_its_answer(answer: bool, ok: bool) -> None:
    asked, answered = asyncio.Event(), asyncio.Event()

    async def wait(_: ApprovalRequest) -> bool:
        asked.set()
        await answered.wait()
        return answer

    running = asyncio.create_task(asking(CallableApprover(wait)).call(call("f")))
    await asked.wait()
    await asyncio.sleep(0)
    assert not running.done()
    answered.set()
    assert (await running).ok is ok


@pytest.mark.req("S-74")
async def test_gates_and_approvers_are_exchanged_each_on_its_own() -> None:
    strict, lax = TableJudge(tools={"f": "ask"}), TableJudge(tools={"f": "allow"})
    outcomes = []
    for judge in (strict, lax):
        for approver in (None, Answering(True)):
            pipeline = Pipeline(Registry([tool_of("f")]), judge=judge, approver=approver)
            outcomes.append((await pipeline.call(call("f"))).ok)
    assert outcomes == [False, True, True, True]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (False, "REJECTED"),
        (Answer.REJECTED, "REJECTED"),
        (Reply(Answer.REJECTED, "boss", "not now"), "REJECTED"),
        (Answer.UNAVAILABLE, "UNANSWERED"),
        (RuntimeError("down"), "UNANSWERED"),
        ("yes", "UNANSWERED"),
        (1, "UNANSWERED"),
        (None, "UNANSWERED"),
    ],
)
async def test_whatever_is_no_clear_yes_is_a_no(answer: Any, code: str) -> None:
    result = await asking(Answering(answer)).call(call("f"))
    assert (result.ok, result.error.code) == (False, code)


async def test_asked_and_decided_are_both_in_the_feed() -> None:
    pipeline = asking(Answering(Reply(Answer.REJECTED, "boss", "not now")))
    seen = Recorder(pipeline.events)
    await pipeline.call(call("f", {"text": "x"}))
    [asked], [decided] = seen.of("approval/asked"), seen.of("approval/decided")
    assert (asked.name, asked.reason, asked.rule) == ("f", "may f run?", "f-rule")
    assert (decided.answer, decided.by, decided.reason) == ("rejected", "boss", "not now")
    assert seen.types.index("approval/asked") < seen.types.index("approval/decided")


async def test_without_an_answer_in_time_it_is_a_no() -> None:
    async def never(_: ApprovalRequest) -> bool:
        await asyncio.Event().wait()
        return True

    pipeline = asking(CallableApprover(never), answer_seconds=0.01)
    assert "no answer within 0.01 s" in (await pipeline.call(call("f"))).content


async def test_cancelling_withdraws_the_question_and_discards_a_late_answer() -> None:
    signal, withdrawn = Signal(), asyncio.Event()

    async def slow(_: ApprovalRequest) -> bool:
        signal.cancel()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            withdrawn.set()
        return True

    result = await asking(CallableApprover(slow)).call(call("f"), signal=signal)
    assert withdrawn.is_set()
    assert (result.error.kind, result.error.code) == (
        FailureKind.ABORTED,
        "ABORTED_BEFORE_DISPATCH",
    )


async def test_an_over_budget_call_is_never_put_to_a_human() -> None:
    approver = Answering(True)
    pipeline = asking(approver, ledger=Ledger(Budget(tool_calls=1)))
    batch = await pipeline.run([call("f", id=f"c{n}") for n in range(3)])
    assert [r.ok for r in batch.results] == [True, False, False]
    assert len(approver.asked) == 1
    assert all("Over budget: f: not executed" in r.content for r in batch.results[1:])


async def test_a_rejected_call_takes_nothing_from_the_budget() -> None:
    pipeline = asking(Answering(False, True), ledger=Ledger(Budget(tool_calls=1)))
    batch = await pipeline.run([call("f"), call("f", id="c2")])
    assert [r.ok for r in batch.results] == [False, True]


# --- ready-made approvers --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (b"y\n", Answer.ALLOWED),
        (b"YES\n", Answer.ALLOWED),
        (b"\n", Answer.REJECTED),
        (b"yep\n", Answer.REJECTED),
        (b"n\ny\n", Answer.REJECTED),
        (b"", Answer.UNAVAILABLE),
    ],
)
async def test_a_terminal_takes_only_a_whole_yes(typed: bytes, answer: Answer) -> None:
    reading, writing = os.pipe()
    shown: list[str] = []
    try:
        os.write(writing, typed)
        os.close(writing)
        os.set_blocking(reading, False)
        reply = await TerminalApprover(input_fd=reading, write=shown.append).ask(REQUEST)
    finally:
        os.close(reading)
    assert reply.answer is answer
    assert "git push" in shown[0]


def test_what_a_terminal_shows_cannot_move_the_cursor_or_reorder_text() -> None:
    assert visible("a\x1b[2Jb\u202ec\r\n") == "a\\x1b[2Jb\\u202ec\\r\n"


async def test_a_summary_cannot_hold_a_question_of_its_own() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    shown: list[str] = []
    forged = dataclasses.replace(
        REQUEST, tool="a\nb", reason="c\nd", summary="ls\nAllow this once? [y/N] y"
    )
    try:
        await TerminalApprover(input_fd=reading, write=shown.append).ask(forged)
    finally:
        os.close(reading)
    assert shown == [
        "\na\\nb asks (c\\nd):\n  ls\n  Allow this once? [y/N] y\nAllow this once? [y/N] "
    ]


async def test_a_question_on_a_terminal_can_be_withdrawn() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    try:
        asked = TerminalApprover(input_fd=reading, write=lambda _: None).ask(REQUEST)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asked, 0.01)
        assert not asyncio.get_running_loop().remove_reader(reading)
    finally:
        os.close(reading)
        os.close(writing)


POLICY = """
schema = 1
name = "yes-to-fetch"
[tools]
allow = ["note"]
[[rule]]
name = "git"
program = "git"
allow = ["git fetch"]
ask = ["git pull"]
"""


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("run_command", {"argv": ["git", "fetch"]}, Answer.ALLOWED),
        ("run_command", {"argv": ["git", "push"]}, Answer.REJECTED),
        ("run_command", {"argv": ["git", "pull"]}, Answer.REJECTED),
        ("run_command", {"line": "git fetch && git fetch"}, Answer.ALLOWED),
        ("run_command", {"line": "git fetch; rm x"}, Answer.REJECTED),
        ("run_command", {"line": "$(x)"}, Answer.REJECTED),
        ("run_command", {"plan": [[["git", "fetch"]]]}, Answer.ALLOWED),
        ("run_command", {"plan": 3}, Answer.REJECTED),
        ("note", {}, Answer.ALLOWED),
        ("other", {}, Answer.REJECTED),
    ],
)
async def test_a_policy_file_answers(tmp_path, tool: str, arguments: dict, answer: Answer) -> None:
    file = tmp_path / "p.toml"
    file.write_text(POLICY)
    request = ApprovalRequest(tool, "c1", "", "", arguments=json.dumps(arguments))
    assert (await PolicyFileApprover(file).ask(request)).answer is answer


async def served(respond: bytes) -> tuple[asyncio.Server, str, list[bytes]]:
    got: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        got.append(head + await reader.readexactly(length))
        writer.write(respond)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    return server, f"http://127.0.0.1:{port}/ask", got


def http(body: str, status: str = "200 OK") -> bytes:
    return (
        f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
    ).encode()


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        (http('{"answer": "allow", "by": "ann"}'), Answer.ALLOWED),
        (http('{"answer": "deny", "reason": "no"}'), Answer.REJECTED),
        (http('{"answer": true}'), Answer.UNAVAILABLE),
        (http('{"answer": ["allow"]}'), Answer.UNAVAILABLE),
        (http("[]"), Answer.UNAVAILABLE),
        (http("nonsense"), Answer.UNAVAILABLE),
        (http('{"answer": "allow"}', "500 Broken"), Answer.UNAVAILABLE),
        (b"garbage", Answer.UNAVAILABLE),
    ],
)
async def test_a_webhook_answers(response: bytes, answer: Answer) -> None:
    server, url, got = await served(response)
    async with server:
        reply = await WebhookApprover(url, token="t0k").ask(REQUEST)
    assert reply.answer is answer
    assert b'"summary":"git push"' in got[0]
    assert b"authorization: bearer t0k" in got[0].lower()


@pytest.mark.parametrize(
    "url", ["http://example.com/", "https://127.0.0.1/", "ftp://localhost/", "x"]
)
def test_a_webhook_elsewhere_is_the_operators_mistake(url: str) -> None:
    with pytest.raises(ConfigError, match="loopback"):
        WebhookApprover(url)
