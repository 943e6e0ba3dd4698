"""The whole suite: every check in order, and a report for each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from runners.conformance import (
    confinement,
    descendant,
    file,
    isolation,
    lifetime,
    limit,
    output,
    program,
)
from runners.conformance.check import (
    BrokenPromiseError,
    Check,
    NotHereError,
    opening,
)
from runners.contract import Runner

__all__ = ["CHECKS", "Item", "check_box", "run_check"]

MODULES = (program, descendant, output, confinement, file, isolation, limit, lifetime)
CHECKS: tuple[Check, ...] = tuple(check for module in MODULES for check in module.CHECKS)
CHECK_SECONDS = 100.0

Status = Literal["passed", "failed", "gap", "skipped"]


@dataclass(frozen=True, slots=True)
class Item:
    """What came of one check.

    Attributes:
        name: of the check.
        promise: its number in the docstring of `runners.Session`.
        status: ``gap`` is a failure that is known and listed.
        reason: one sentence unless it passed.
    """

    name: str
    promise: int
    status: Status
    reason: str = ""


async def run_check(runner: Runner, check: Check, image: str, gap: str | None = None) -> Item:
    """Try one check. A listed gap that passes is a failure: the list must not lie (decision 32)."""
    reason = ""
    status: Status = "passed"
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await check.body(opening(runner.open, image))
    except NotHereError as why:
        status, reason = "skipped", str(why)
    except BrokenPromiseError as why:
        status, reason = "failed", str(why)
    except TimeoutError:
        status, reason = "failed", f"it did not end within {CHECK_SECONDS:g} s"
    except Exception as error:  # a box that raises where data was promised is broken, not we
        status, reason = "failed", f"{type(error).__name__}: {error}"
    if gap is None or status == "skipped":
        return Item(check.name, check.promise, status, reason)
    if status == "failed":
        return Item(check.name, check.promise, "gap", gap)
    return Item(check.name, check.promise, "failed", f"listed as a gap, but it passes: {gap}")


async def check_box(
    runner: Runner,
    *,
    image: str = "python",
    only: Collection[str] = (),
    gaps: Mapping[str, str] | None = None,
) -> AsyncIterator[Item]:
    """Try all checks (or those named) on one box, one after another."""
    known = gaps or {}
    for check in CHECKS:
        if not only or check.name in only:
            yield await run_check(runner, check, image, known.get(check.name))
