"""``stockade doctor --conformance``: holds the boxes of this machine to their promises."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from harness.cli.options import print_json
from harness.cli.terminal import say, visible
from runners import Probe, Runner, Session, SessionSpec

__all__ = ["hold"]


class WithRuntime:
    """A runner whose sessions all use one OCI runtime."""

    def __init__(self, runner: Runner, runtime: str) -> None:
        self.runner = runner
        self.runtime = runtime

    @property
    def name(self) -> str:
        """The box's own."""
        return self.runner.name

    async def probe(self) -> Probe:
        """The box's own."""
        return await self.runner.probe()

    async def open(self, spec: SessionSpec) -> Session:
        """A session under the runtime."""
        return await self.runner.open(replace(spec, runtime=self.runtime))

    async def sweep(self) -> Sequence[str]:
        """The box's own."""
        return await self.runner.sweep()


def hold(probes: Sequence[Probe], runtime: str | None, image: str, *, as_json: bool) -> int:
    """Try all checks; 0 when none failed, 1 when one did or there was no box to try."""
    boxes = {probe.name: asyncio.run(try_box(probe, runtime, image)) for probe in probes}
    items = [item for found in boxes.values() for item in found]
    if as_json:
        print_json({"boxes": [{"name": name, "items": found} for name, found in boxes.items()]})
    counts = {
        status: sum(item["status"] == status for item in items)
        for status in ("passed", "failed", "gap", "skipped")
    }
    say(", ".join(f"{count} {status}" for status, count in counts.items()))
    return 0 if items and not counts["failed"] else 1


async def try_box(probe: Probe, runtime: str | None, image: str) -> list[dict[str, Any]]:
    """Every check on one box, told as it ends."""
    from harness.run.box import all_runners
    from runners.conformance import check_box, known_gaps

    (runner,) = (one for one in all_runners() if one.name == probe.name)
    if runtime is not None and runner.name == "docker":
        runner = WithRuntime(runner, runtime)
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
        click.echo(visible(f"{probe.name} {item.status:<7} {item.name}{tail}"), err=True)
    return items
