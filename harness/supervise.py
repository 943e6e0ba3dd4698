"""Waiting for work that may hang, may be unwanted, or may not want to stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any, Literal, NamedTuple, TypeAlias

from harness.signal import Signal

__all__ = ["Patience", "Watched", "in_thread", "supervise"]


_Ending: TypeAlias = Literal["done", "timeout", "signal"]


class Watched(NamedTuple):
    """How waiting ended.

    Attributes:
        ending: the work ended by itself, at its time limit, or because of the signal.
        task: the work; ``task.done()`` is False when it did not stop within the grace time, and
            is then left alone.
    """

    ending: _Ending
    task: asyncio.Future[Any]


async def supervise(
    work: Coroutine[Any, Any, Any],
    *,
    signal: Signal,
    seconds: float | None = None,
    grace_seconds: float = 2.0,
    on_timeout: Callable[[], None] | None = None,
) -> Watched:
    """Await a coroutine, at most for a time, at most until a signal.

    On the signal it has the grace time to end by itself, then it is cancelled; at the time limit
    it is cancelled at once. Whoever ignores that for another grace time is left behind: nothing
    can stop it, and the caller is not held up. Cancelling the awaiting task cancels the work.
    """
    loop = asyncio.get_running_loop()
    limit = None if seconds is None else loop.time() + seconds
    task = loop.create_task(work)
    try:
        await asyncio.sleep(0)
        if task.done():  # most work is over in one turn: no timer, nobody to call back
            return Watched("signal" if signal.cancelled else "done", task)
        why = await _first(task, signal, limit)
    except asyncio.CancelledError:
        await _stop(task, grace_seconds)
        raise
    if why == "timeout" and on_timeout is not None:
        on_timeout()
    if why == "signal" and not task.done():
        await asyncio.wait({task}, timeout=grace_seconds)
    if why != "done":
        await _stop(task, grace_seconds)
    return Watched(why, task)


async def _first(task: asyncio.Task[Any], signal: Signal, limit: float | None) -> _Ending:
    """What comes first: the end of the work, its time limit, or the signal."""
    loop = asyncio.get_running_loop()
    wake: asyncio.Future[_Ending] = loop.create_future()

    def on(why: _Ending) -> None:
        if not wake.done():
            wake.set_result("done" if task.done() else why)

    task.add_done_callback(lambda _: on("done"))
    remove = signal.subscribe(lambda: on("signal"))
    timer = None if limit is None else loop.call_at(limit, on, "timeout")
    try:
        return await wake
    finally:
        remove()
        if timer is not None:
            timer.cancel()


async def _stop(task: asyncio.Task[Any], grace_seconds: float) -> None:
    if not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=grace_seconds)
    if task.done():
        _look_at(task)
    else:
        task.add_done_callback(_look_at)


def _look_at(task: asyncio.Task[Any]) -> None:
    """Retrieve the exception, so that the event loop does not report it as lost."""
    if not task.cancelled():
        task.exception()


class Patience:
    """Cancels the task that made it, a grace time after ``begin``.

    What ``asyncio.timeout`` does, for a wait that hardly ever has to be ended: as long as nobody
    begins, it costs nothing.
    """

    __slots__ = ("_before", "_fired", "_grace_seconds", "_task", "_timer")

    def __init__(self, grace_seconds: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._before = task.cancelling()
        self._grace_seconds = grace_seconds
        self._timer: asyncio.TimerHandle | None = None
        self._fired = False

    def begin(self) -> None:
        """From now on the task has the grace time left."""
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._grace_seconds, self._fire)

    def _fire(self) -> None:
        self._fired = True
        self._task.cancel()

    def ended_this(self) -> bool:
        """Whether a cancellation of the task is this one, and nobody else's."""
        return self._fired and self._task.cancelling() <= self._before + 1

    def release(self) -> None:
        """The wait is over; what was cancelled here is not cancelled any more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._fired:
            self._task.uncancel()


async def in_thread(function: Callable[[], Any]) -> Any:  # noqa: ANN401
    """Run a plain function in a thread of its own.

    A thread cannot be stopped: a function that hangs is left behind. It is a daemon, because the
    event loop's own pool would keep the program from ending.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    context = copy_context()

    def settle(value: Any, error: BaseException | None) -> None:  # noqa: ANN401
        if done.done():
            return
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    def run() -> None:
        value = None
        error: BaseException | None = None
        try:
            value = context.run(function)
        except StopIteration as stop:  # a future cannot carry it
            error = RuntimeError(f"StopIteration: {stop}")
        except BaseException as raised:  # carried to the awaiting task
            error = raised
        try:
            loop.call_soon_threadsafe(settle, value, error)
        except RuntimeError:
            return  # the loop is gone, nobody waits

    threading.Thread(target=run, name="tool", daemon=True).start()
    return await done
