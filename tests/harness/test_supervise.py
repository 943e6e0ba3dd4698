"""Waiting for work, and for whom nobody waits any more."""

from __future__ import annotations

import asyncio
import time

import pytest

from harness.signal import Signal
from harness.supervise import Patience, supervise


async def test_the_time_limit_counts_from_the_start_of_the_work() -> None:
    async def work() -> None:
        time.sleep(0.02)  # the event loop is held up on purpose
        await asyncio.sleep(3600)

    loop = asyncio.get_running_loop()
    start = loop.time()
    watched = await supervise(work(), signal=Signal(), seconds=0.02, grace_seconds=0.001)
    assert (watched.ending, watched.task.cancelled()) == ("timeout", True)
    assert loop.time() - start < 3600


async def test_work_that_is_over_at_once_is_done_whatever_its_limit() -> None:
    async def work() -> str:
        return "over"

    watched = await supervise(work(), signal=Signal(), seconds=1e-9)
    assert (watched.ending, watched.task.result()) == ("done", "over")


@pytest.mark.parametrize("turns", [0, 1, 3])
async def test_work_that_sets_the_signal_itself_ends_by_the_signal(turns: int) -> None:
    signal = Signal()

    async def work() -> str:
        for _ in range(turns):
            await asyncio.sleep(0)
        signal.cancel()
        return "over"

    watched = await supervise(work(), signal=signal)
    assert (watched.ending, watched.task.result()) == ("signal", "over")


@pytest.mark.parametrize("turns", [1, 4])
async def test_cancelling_whoever_waits_cancels_the_work(turns: int) -> None:
    cancelled: list[bool] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(True)

    waiter = asyncio.create_task(supervise(work(), signal=Signal(), seconds=3600))
    for _ in range(turns + 1):
        await asyncio.sleep(0)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert cancelled == [True]


async def waits(patience_seconds: float, *, begun: bool = True) -> tuple[bool, int]:
    """Whether a wait was ended by its own patience, and what is left of a cancellation."""
    patience = Patience(patience_seconds)
    if begun:
        patience.begin()
    own = False
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        own = patience.ended_this()
    finally:
        patience.release()
    task = asyncio.current_task()
    assert task is not None
    return own, task.cancelling()


async def test_patience_ends_a_wait_and_leaves_no_cancellation() -> None:
    assert await asyncio.create_task(waits(0)) == (True, 0)


@pytest.mark.parametrize("begun", [True, False])
async def test_patience_does_not_take_another_cancellation_for_its_own(begun: bool) -> None:
    task = asyncio.create_task(waits(3600, begun=begun))
    await asyncio.sleep(0)
    task.cancel()
    assert await task == (False, 1)


async def test_patience_that_was_released_in_time_cancels_nothing() -> None:
    patience = Patience(0)
    patience.begin()
    patience.release()
    for _ in range(3):
        await asyncio.sleep(0)
    task = asyncio.current_task()
    assert task is not None
    assert (task.cancelling(), patience.ended_this()) == (0, False)
