"""The agent loop: ask the model, append its answer, run its calls, append their results.

It ends with an answer, when the model calls nothing or a tool ends the run; or with the first
limit that is reached; or when somebody cancels. Whatever happens, every call in the transcript
has its result behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.asking import Asking
from harness.budget import Spent
from harness.bus import current_step
from harness.clock import perf_counter_ns, seconds_since
from harness.context import Transcript, Trimmer
from harness.event import StepEnd, StepStart
from harness.message import Assistant, Message, ToolMessage, User
from harness.model import Model, Reply, ToolDefinition
from harness.pipeline import Batch, Pipeline
from harness.repeat import RepeatGuard
from harness.signal import Signal
from runners import RunnerError

__all__ = ["Loop", "LoopResult", "run_loop"]

_CUT = "Your answer was cut off by the provider's length limit; no call of it was run. Go on."


@dataclass(frozen=True, slots=True)
class LoopResult:
    """What came of a run.

    Attributes:
        status: completed, step_limit, tool_limit, time_limit, token_limit or aborted.
        messages: the whole conversation, always a valid one.
        steps: model answers that were accepted.
        answer: the final text; there when, and only when, the run completed.
        spent: what it cost.
        denials: calls that were refused.
        unanswered: questions that nobody answered.
    """

    status: str
    messages: Sequence[Message]
    steps: int
    answer: str | None
    spent: Spent
    denials: int = 0
    unanswered: int = 0


async def run_loop(
    model: Model,
    pipeline: Pipeline,
    transcript: Transcript,
    *,
    signal: Signal | None = None,
    trimmer: Trimmer | None = None,
    tools: Callable[[], tuple[ToolDefinition, ...]] | None = None,
) -> LoopResult:
    """Run until an answer or a limit.

    Args:
        model: whoever answers.
        pipeline: runs the calls; its registry, ledger and events are the run's.
        transcript: the conversation so far; it grows.
        signal: cancels the run.
        trimmer: leaves old rounds out of requests that are too long.
        tools: what the model is told of, at each step anew; the registry's where None.

    Raises:
        ModelError: the model failed, or its answer cannot be used; carries the transcript.
        RunnerError: the box failed; the transcript is whole.
        LogError: the log cannot be written; nothing goes on unlogged.
    """
    return await Loop(model, pipeline, transcript, signal or Signal(), trimmer, tools).run()


class Loop:
    """One run of the loop."""

    def __init__(  # noqa: PLR0913, PLR0917 - the agent names them all
        self,
        model: Model,
        pipeline: Pipeline,
        transcript: Transcript,
        signal: Signal,
        trimmer: Trimmer | None = None,
        tools: Callable[[], tuple[ToolDefinition, ...]] | None = None,
        repeat: RepeatGuard | None = None,
        told: int = 0,
    ) -> None:
        self._pipeline = pipeline
        self._transcript = transcript
        self._signal = signal.child()
        self._events = pipeline.events
        self._ledger = pipeline.ledger
        self._repeat = repeat
        self._asking = Asking(
            model,
            transcript,
            pipeline.events,
            trimmer or Trimmer(),
            tools or pipeline.registry.definitions,
            grace_seconds=pipeline.grace_seconds,
            told=told,
        )
        self._denials = 0
        self._unanswered = 0

    @property
    def told(self) -> int:
        """How many messages of the transcript the record has."""
        return self._asking.told

    async def run(self) -> LoopResult:
        """Step until something ends the run."""
        left = self._ledger.start()
        alarm = asyncio.get_running_loop().call_later(left, self._signal.cancel, "time_limit")
        try:
            status, answer = self._stop(), None
            while status is None:
                status, answer = await self._step(self._ledger.steps + 1)
        finally:
            alarm.cancel()
            self._signal.release()
            current_step.set(0)
        spent = self._ledger.spent
        messages = self._transcript.view()
        return LoopResult(
            status, messages, spent.steps, answer, spent, self._denials, self._unanswered
        )

    def _stop(self) -> str | None:
        """The status with which the run must end here, or None."""
        if self._signal.cancelled:
            return "time_limit" if self._signal.reason == "time_limit" else "aborted"
        if self._ledger.exceeded is not None:
            return self._ledger.exceeded
        return "step_limit" if self._ledger.steps >= self._ledger.budget.steps else None

    async def _step(self, number: int) -> tuple[str | None, str | None]:
        """One answer and its calls; the status that ends the run, if one does, and the answer."""
        current_step.set(number)
        started = perf_counter_ns()
        self._events.emit(StepStart(), soon=True)
        status: str | None = "aborted"
        answer, calls = None, 0
        try:
            reply = await self._asking.ask(self._signal)
            if reply is None:
                status = self._stop()
                return status, None
            calls = len(reply.calls)
            self._keep(reply)
            status, answer = await self._act(reply, number)
            status = status or self._stop()
            return status, answer
        except RunnerError:
            status = "infrastructure"
            raise
        except Exception:
            status = "model_error"
            raise
        finally:
            # Where the run goes on, the next step's request follows at once.
            self._events.emit(StepEnd(calls, seconds_since(started), status), soon=status is None)

    def _keep(self, reply: Reply) -> None:
        """Count an accepted answer and append it."""
        self._ledger.steps += 1
        self._ledger.report(reply.usage)
        calls = tuple(reply.calls)
        self._transcript.append(Assistant(reply.text, calls, tuple(reply.reasoning)))
        self._asking.told = len(self._transcript)

    async def _act(self, reply: Reply, step: int) -> tuple[str | None, str | None]:
        """Run the calls of an answer and append their results; how the run ends, if it does."""
        if not reply.calls:
            if not reply.cut:
                return "completed", reply.text
            self._transcript.append(User(_CUT, origin="context"))
            return None, None
        try:
            batch = await self._pipeline.run(reply.calls, step=step, signal=self._signal)
        except BaseException:
            for call in reply.calls:  # the conversation goes on in the next turn, so it is whole
                content = f"Cancelled: {call.name}: the run ended here; the outcome is unknown"
                self._transcript.append(ToolMessage(call.id, call.name, content, is_error=True))
            raise
        self._append(reply, batch)
        if batch.broken is not None:
            raise batch.broken
        if not self._signal.cancelled:
            for result in batch.results:
                if result.ends_run:
                    return "completed", result.content
        return None, None

    def _append(self, reply: Reply, batch: Batch) -> None:
        self._denials += batch.denials
        self._unanswered += batch.unanswered
        for result in batch.results:
            message = ToolMessage(result.call_id, result.tool, result.content, not result.ok)
            self._transcript.append(message)
        self._asking.told = len(self._transcript)
        for call, result in zip(reply.calls, batch.results, strict=True):
            for note in result.contexts:
                self._transcript.append(User(note, origin="context"))
            advice = None if self._repeat is None else self._repeat.look(call, ok=result.ok)
            if advice is not None:
                self._transcript.append(User(advice, origin="context"))
