"""A health check: a command of the task's that must succeed before the agent begins."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from harness.errors import HarnessError
from harness.run.agent import run_own
from harness.run.work import Work
from harness.task import Healthcheck
from policies import Limits
from runners import Session

__all__ = ["HealthError", "await_health"]


class HealthError(HarnessError):
    """The box did not become healthy."""


async def await_health(session: Session, work: Work, check: Healthcheck | None) -> None:
    """Return when the command succeeds.

    As Docker has it: failures of the start period do not count, then so many in a row are too
    many.
    """
    if check is None:
        return
    began, failures = time.monotonic(), 0
    while True:
        limits = replace(Limits(), wall_seconds=check.timeout_seconds)
        argv = ("bash", "-c", check.command)
        outcome = await run_own(session, work, "healthcheck", argv, limits)
        if outcome.ok:
            return
        starting = time.monotonic() - began < check.start_seconds
        failures += not starting
        if failures >= check.retries:
            raise HealthError(f"the health check failed {failures} times: {check.command}")
        await asyncio.sleep(check.start_interval_seconds if starting else check.interval_seconds)
