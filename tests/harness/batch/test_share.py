"""Runs share the machine's memory in the order in which they ask."""

from __future__ import annotations

import asyncio

from harness.batch.share import MemoryShare


async def order_of(total: int, *wishes: int) -> tuple[list[int], int]:
    """In which order runs began, and the most memory that was in use."""
    share, began, used, most = MemoryShare(total), [], 0, 0

    async def run(number: int, mib: int) -> None:
        nonlocal used, most
        async with share.of(mib):
            began.append(number)
            used += mib
            most = max(most, used)
            for _ in range(3):
                await asyncio.sleep(0)
            used -= mib

    await asyncio.gather(*(run(number, mib) for number, mib in enumerate(wishes)))
    return began, most


async def test_runs_that_fit_run_side_by_side() -> None:
    assert await order_of(10, 4, 4) == ([0, 1], 8)


async def test_a_run_waits_until_its_memory_is_free_and_none_passes_it() -> None:
    assert await order_of(10, 6, 6, 1, 1) == ([0, 1, 2, 3], 8)


async def test_a_run_that_wants_more_than_there_is_runs_alone() -> None:
    assert await order_of(10, 4, 50, 4) == ([0, 1, 2], 50)


async def test_a_cancelled_run_holds_nobody_up() -> None:
    share = MemoryShare(10)
    async with share.of(8):
        waiting = asyncio.create_task(anext_of(share))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(5), share.of(8):
        pass


async def anext_of(share: MemoryShare) -> None:
    async with share.of(8):
        pass
