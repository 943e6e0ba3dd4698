"""The body of a call, with what runs around it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

from harness.budget import Ledger
from harness.bus import current_call, current_step
from harness.clock import perf_counter_ns, seconds_since
from harness.errors import LogError
from harness.hook import Around, Hooks
from harness.pipeline.case import Case
from harness.registry import Entry
from harness.result import Failure, FailureKind, Success
from harness.signal import Cancelled, Signal
from harness.supervise import Watched, in_thread, supervise
from harness.text import safe_message
from harness.tool import Execution, ToolError
from runners import RunnerError

__all__ = ["Denial", "Dispatch"]

TURN_NANOSECONDS = 2_000_000


class Denial(Exception):  # noqa: N818 - a verdict, no error of ours
    """Raised by a body whose action the policy denied on a closer look; carries the text."""

    def __init__(self, message: str, *, unanswered: bool = False) -> None:
        super().__init__(message)
        self.unanswered = unanswered


@dataclass(slots=True)
class Dispatch:
    """Starts bodies: the execute chain, the time limit, cancellation."""

    hooks: Hooks
    ledger: Ledger
    timeout_seconds: float
    grace_seconds: float
    _turn: int = 0  # when the event loop had its last turn from here

    async def dispatch(self, case: Case) -> None:
        """Run a ready case to an outcome; only a broken box or log raises."""
        started = perf_counter_ns()
        step, call = current_step.set(case.step), current_call.set(case.call.id)
        try:
            if self.hooks.around:
                case.outcome = await self._chain(case)
            else:
                case.outcome = await self._body(case, None)
        except (LogError, RunnerError):
            raise
        except Exception as error:  # a listener that fails fails its call, never the loop
            message = f"{case.call.name}: a hook failed: {safe_message(error, case.call.arguments)}"
            case.outcome = Failure(FailureKind.RAISED, message, type(error).__name__, "HOOK_FAILED")
            case.skip_post = True
        finally:
            case.duration_seconds = seconds_since(started)
            case.denied = case.denied or case.execution.refused
            current_step.reset(step)
            current_call.reset(call)
            if case.reserved:  # a hook took the call over, no body was started
                case.reserved = False
                self.ledger.release(case.call.name)

    async def _chain(self, case: Case) -> Success | Failure:
        hooks = tuple(self.hooks.around)
        info = case.info

        async def enter(index: int, signal: Signal | None) -> Success | Failure:
            if index == len(hooks):
                return await self._body(case, signal)

            def inside(own: Signal | None = None) -> Coroutine[Any, Any, Success | Failure]:
                both = own if signal is None or own is None else Signal.any(signal, own)
                return enter(index + 1, both or signal)

            call_next: Around = inside
            outcome = await hooks[index](info, call_next)
            if not isinstance(outcome, Success | Failure):
                raise TypeError(f"an execute hook returned {outcome!r:.40}, no outcome")
            return outcome

        return await enter(0, None)

    async def _body(self, case: Case, extra: Signal | None) -> Success | Failure:
        """One start of the body; the first uses the reservation, each other takes one."""
        name = case.call.name
        if case.reserved:
            case.reserved = False
        else:
            reason = self.ledger.reserve(name)
            if reason is not None:
                return Failure(FailureKind.OVER_BUDGET, f"{name}: not executed again, {reason}")
        assert case.entry is not None
        tool = case.entry.tool
        signal = case.signal if extra is None else Signal.any(case.signal, extra)
        execution = case.execution
        execution.begin(signal)
        seconds = tool.timeout_seconds or self.timeout_seconds
        try:
            if tool.inline and not case.entry.is_coroutine:
                work = await self._at_once(tool.execute, case)
                if isinstance(work, Success):
                    return work
                if isinstance(work, asyncio.Future):
                    return _outcome(Watched("done", work), case, seconds)
            else:
                work = _work(case.entry, case.given, execution)
            watched = await supervise(
                work,
                signal=signal,
                seconds=seconds,
                grace_seconds=self.grace_seconds,
                on_timeout=_late(execution),
            )
        finally:
            execution.end()
            if extra is not None:
                signal.release()
        return _outcome(watched, case, seconds)

    async def _at_once(
        self, body: Callable[[Any, Execution], Any], case: Case
    ) -> Success | asyncio.Future[Any] | Coroutine[Any, Any, Any]:
        """Call an inline function: what came of it, or the rest of the work if it gives such.

        No task and no turn of the event loop for each, or they would be most of what a step
        costs; but timers and signals are waited for by others, so every few milliseconds one.
        """
        now = perf_counter_ns()
        if now - self._turn > TURN_NANOSECONDS:
            await asyncio.sleep(0)
            self._turn = perf_counter_ns()
        try:
            value = copy_context().run(body, case.given, case.execution)
        except StopIteration as error:
            return _over(None, RuntimeError(f"the body raised {error!r}"))
        except (Exception, asyncio.CancelledError) as error:
            return _over(None, error)
        if inspect.isawaitable(value):
            return _awaited(value)
        return _over(value) if case.signal.cancelled else Success(value)


def _over(value: Any, error: BaseException | None = None) -> asyncio.Future[Any]:  # noqa: ANN401
    """Work that is over, as it looks to those who waited for it."""
    done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    if error is None:
        done.set_result(value)
    elif isinstance(error, asyncio.CancelledError):
        done.cancel()
    else:
        done.set_exception(error)
    return done


async def _awaited(value: Awaitable[Any]) -> Any:  # noqa: ANN401
    return await value


def _late(execution: Execution) -> Callable[[], None]:
    return lambda: execution.end("timeout")


async def _work(entry: Entry, arguments: Any, execution: Execution) -> Any:  # noqa: ANN401
    """The body itself: coroutines here, plain functions in a thread."""
    body = entry.tool.execute
    if entry.is_coroutine:
        return await body(arguments, execution)
    value = await in_thread(lambda: body(arguments, execution))
    return await value if inspect.isawaitable(value) else value


def _outcome(watched: Watched, case: Case, seconds: float) -> Success | Failure:
    name, task = case.call.name, watched.task
    left = "" if task.done() else "; it did not stop and may still be running"
    if watched.ending == "timeout":
        message = f"{name}: no result within its limit of {seconds:g} s{left}"
        return Failure(FailureKind.TIMEOUT, message, "TimeoutError")
    if watched.ending == "signal" or case.signal.cancelled:
        return _aborted(task, case, left)
    return _finished(task, case)


def _aborted(task: asyncio.Future[Any], case: Case, left: str) -> Failure:
    """A call that the cancellation met: its own failure is kept, a success is not one any more."""
    name = case.call.name
    why = "the run was cancelled" if case.signal.cancelled else "a hook cancelled it"
    if not task.done() or task.cancelled():
        return Failure(FailureKind.ABORTED, f"{name}: {why} while it ran{left}", "Cancelled")
    outcome = _finished(task, case)
    if isinstance(outcome, Failure):
        return outcome
    message = f"{name}: {why} while it ran; its work was done all the same"
    return Failure(FailureKind.ABORTED, message, "Cancelled")


def _finished(task: asyncio.Future[Any], case: Case) -> Success | Failure:
    name = case.call.name
    if task.cancelled():
        return Failure(FailureKind.ABORTED, f"{name}: it cancelled itself", "Cancelled")
    error = task.exception()
    if error is None:
        return Success(task.result())
    if isinstance(error, LogError | RunnerError) or not isinstance(error, Exception):
        raise error
    if isinstance(error, Denial):
        case.denied = True
        case.unanswered = case.unanswered or error.unanswered
        return Failure(FailureKind.DENIED, f"{name}: {error}")
    if isinstance(error, ToolError):
        return Failure(FailureKind.RAISED, f"{name}: {error}", error.type)
    if isinstance(error, Cancelled):
        return Failure(FailureKind.ABORTED, f"{name}: cancelled: {error}", "Cancelled")
    message = f"{name}: {safe_message(error, case.call.arguments)}"
    return Failure(FailureKind.RAISED, message, type(error).__name__)
