"""Questions to the operator: who answers them, and what counts as an answer."""

from __future__ import annotations

import asyncio
import enum
import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from harness.bus import Events
from harness.event import ApprovalAsked, ApprovalDecided
from harness.signal import Signal

__all__ = [
    "Answer",
    "ApprovalRequest",
    "Approver",
    "CallableApprover",
    "NoApprover",
    "Reply",
    "put_question",
]

ANSWER_SECONDS = 60.0
"""Without an answer for that long, it is a no."""


class Answer(enum.StrEnum):
    """The only answers there are; only the first permits, and only this one call."""

    ALLOWED = "allowed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with who gave it, and why."""

    answer: Answer
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """One question about one call.

    Attributes:
        tool: the tool's name (for `stockade exec`: "exec").
        call_id: the model's id of the call.
        summary: what would run, in full, for people. Control characters are not escaped in it.
        reason: why somebody is asked.
        rule: the policy's rule that asks, or None.
        tier: the tool's label; None is unknown.
        arguments: the raw text of the arguments.
    """

    tool: str
    call_id: str
    summary: str
    reason: str
    rule: str | None = None
    tier: str | None = None
    arguments: str = ""
    signal: Signal = field(default_factory=Signal)


class Approver(Protocol):
    """Somebody who answers questions.

    Promises:
     1. One question, one answer; nothing is remembered for the next call.
     2. Cancelling the awaiting task withdraws the question.
    """

    @property
    def name(self) -> str:
        """Who answers, for the log."""
        ...

    async def ask(self, request: ApprovalRequest, /) -> Reply | Answer | bool:
        """Answer one question; whatever is no clear yes is a no."""
        ...


class NoApprover:
    """Nobody: every question goes unanswered, which is a no."""

    name = "none"

    async def ask(self, _: ApprovalRequest, /) -> Reply:
        """Say that nobody is there."""
        return Reply(Answer.UNAVAILABLE, self.name, "nobody is there to answer")


class CallableApprover:
    """Asks a function, plain or a coroutine; True is a yes."""

    def __init__(
        self,
        function: Callable[[ApprovalRequest], object],
        *,
        name: str = "callable",
    ) -> None:
        self.name = name
        self._function = function

    async def ask(self, request: ApprovalRequest, /) -> Reply | Answer | bool:
        """Ask the function."""
        answer = self._function(request)
        if inspect.isawaitable(answer):
            answer = await answer
        return as_reply(answer, self.name)


def as_reply(answer: object, by: str) -> Reply:
    """What an approver returned, read strictly: what is not known to permit does not."""
    if isinstance(answer, Reply) and isinstance(answer.answer, Answer):
        return Reply(answer.answer, answer.by or by, answer.reason)
    if isinstance(answer, Answer):
        return Reply(answer, by)
    if answer is True:
        return Reply(Answer.ALLOWED, by)
    if answer is False:
        return Reply(Answer.REJECTED, by)
    return Reply(Answer.UNAVAILABLE, by, f"the answer {answer!r:.40} is no known one")


async def put_question(
    approver: Approver | None,
    request: ApprovalRequest,
    *,
    events: Events,
    signal: Signal,
    seconds: float = ANSWER_SECONDS,
) -> Reply:
    """Put exactly one question and wait for its answer, the end of the run, or the deadline.

    Asked and decided are both in the log; a log that cannot be written raises, so that no
    unlogged answer permits anything.
    """
    events.emit(
        ApprovalAsked(request.tool, request.summary, request.reason, request.rule),
        call=request.call_id,
    )
    started = time.monotonic()
    reply = await _answer(approver or NoApprover(), request, signal, seconds)
    events.emit(
        ApprovalDecided(
            request.tool,
            reply.answer.value,
            reply.by,
            reply.reason or None,
            round(time.monotonic() - started, 6),
        ),
        call=request.call_id,
    )
    return reply


async def _answer(
    approver: Approver, request: ApprovalRequest, signal: Signal, seconds: float
) -> Reply:
    by = getattr(approver, "name", type(approver).__name__)
    if signal.cancelled:
        return Reply(Answer.CANCELLED, by, "the run was cancelled")
    asking = asyncio.ensure_future(_asked(approver, request, by))
    stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    remove = signal.subscribe(lambda: _withdraw(stop))
    try:
        waiting: set[asyncio.Future[Any]] = {asking, stop}
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if signal.cancelled:  # a late answer is discarded
            return Reply(Answer.CANCELLED, by, "the run was cancelled")
        if not asking.done():
            return Reply(Answer.UNAVAILABLE, by, f"no answer within {seconds:g} s")
        return asking.result()
    finally:
        remove()
        stop.cancel()
        if not asking.done():
            asking.cancel()
            await asyncio.wait({asking}, timeout=1.0)


def _withdraw(stop: asyncio.Future[None]) -> None:
    stop.cancel()


async def _asked(approver: Approver, request: ApprovalRequest, by: str) -> Reply:
    try:
        return as_reply(await approver.ask(request), by)
    except Exception as error:  # whatever it is, it is no yes
        return Reply(Answer.UNAVAILABLE, by, f"the approver failed: {type(error).__name__}")
