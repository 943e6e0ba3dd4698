"""Promise 10: closing is certain, may be repeated, and has a deadline."""

from __future__ import annotations

import asyncio

from runners.conformance.check import Opening, Registry, expect, promised, python, run, within
from runners.conformance.descendant import FOREVER, HEART, HIDDEN
from runners.errors import RunnerError
from runners.outcome import Ending

__all__ = ["CHECKS"]

check = Registry()
CHECKS = check.checks

CLOSE_SECONDS = 10


@check(10)
async def closing_twice_is_fine(opening: Opening) -> None:
    """The second time nothing is left to do."""
    async with opening() as session:
        await session.close()
        await session.close()


@check(10)
async def a_closed_session_says_so(opening: Opening) -> None:
    """With the error of our machinery, not with an outcome."""
    async with opening() as session:
        await session.close()
        try:
            await run(session, "true")
        except RunnerError:
            return
    promised(False, "a call after close() raises RunnerError")


@check(10)
async def closing_ends_calls_under_way(opening: Opening) -> None:
    """Within its deadline, and whoever waits for the call is told."""
    async with opening() as session:
        call = asyncio.create_task(python(session, HEART + HIDDEN + FOREVER))
        await run(session, "true")
        with within(CLOSE_SECONDS, "closing with a call under way"):
            await session.close()
        done, _ = await asyncio.wait({call}, timeout=5)
        promised(done, "a call of a closed session ends")
        error = call.exception() if not call.cancelled() else None
        told = isinstance(error, RunnerError) or call.cancelled()
        promised(told or call.result().ending is not Ending.EXITED, "its end is told")


@check(10)
async def sessions_can_be_opened_one_after_another(opening: Opening) -> None:
    """Nothing of the last one is in the way of the next."""
    seen = []
    for _ in range(3):
        async with opening() as session:
            listing = await run(session, "ls", "-A")
            await session.write_file("left", b"")
            seen.append(listing.stdout.data)
    expect(seen, [b"", b"", b""], "workspaces at their start")
