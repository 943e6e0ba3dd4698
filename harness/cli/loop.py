"""Runs a coroutine under the operator's signals."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import TypeVar

from harness.run import Stop

__all__ = ["run_until_stopped"]

T = TypeVar("T")

COLLECT_AFTER = 100_000
"""Objects made since the last collection, from here on: now some do not stay."""

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def run_until_stopped(work: Callable[[Stop], Coroutine[None, None, T]]) -> T:
    """The result of the work. A first signal asks it to end in order, a second ends all at once.

    Ending at once is safe: a box ends when the harness does.
    """

    async def main() -> T:
        stop = Stop()
        loop = asyncio.get_running_loop()
        for number in CODES:
            loop.add_signal_handler(number, react, stop, number)
        return await work(stop)

    gc.freeze()  # what was imported and loaded stays
    gc.set_threshold(COLLECT_AFTER, 20, 20)
    return asyncio.run(main())


def react(stop: Stop, number: signal.Signals) -> None:
    """One signal arrived."""
    code = CODES[number]
    if stop.requested:
        os._exit(code)
    sys.stderr.write("\nstockade: ending in order; once more to end at once\n")
    sys.stderr.flush()
    stop.request(code)
