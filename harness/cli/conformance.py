"""``stockade doctor --conformance``: holds the boxes of this machine to their promises."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from harness.cli.options import print_json
from harness.cli.terminal import say
from runners import Probe, Runner

__all__ = ["hold"]


def hold(runners: Sequence[Runner], image: str, *, as_json: bool) -> int:
    """Try all checks; 0 when none failed, 1 when one did or there was no box to try."""
    boxes = asyncio.run(try_all(runners, image))
    items = [item for found in boxes.values() for item in found]
    if as_json:
        print_json({"boxes": [{"name": name, "items": found} for name, found in boxes.items()]})
    counts = {
        status: sum(item["status"] == status for item in items)
        for status in ("passed", "failed", "gap", "skipped")
    }
    say(", ".join(f"{count} {status}" for status, count in counts.items()))
    return 0 if items and not counts["failed"] else 1


async def try_all(runners: Sequence[Runner], image: str) -> dict[str, list[dict[str, Any]]]:
    """The items by box, of the boxes that work here."""
    found = {}
    for runner in runners:
        probe = await runner.probe()
        if probe.ok:
            found[probe.name] = await try_box(runner, probe, image)
        else:
            say(f"{probe.name}: {probe.reason}")
    return found


async def try_box(runner: Runner, probe: Probe, image: str) -> list[dict[str, Any]]:
    """Every check on one box, told as it ends."""
    from runners.conformance import check_box, known_gaps

    items = []
    async for item in check_box(runner, image=image, gaps=known_gaps(probe)):
        items.append(
            {
                "name": item.name,
                "promise": item.promise,
                "status": item.status,
                "reason": item.reason,
            }
        )
        tail = f": {item.reason}" if item.reason else ""
        say(f"{probe.name} {item.status:<7} {item.name}{tail}")
    return items
