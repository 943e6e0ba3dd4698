"""``stockade doctor``: which boxes work on this machine, and exactly why others do not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import click

from harness.cli.options import json_option, print_json
from harness.cli.terminal import put
from runners import Probe, Runner

__all__ = ["doctor"]


@click.command()
@click.option("--conformance", is_flag=True, help="Hold every box that works to its promises.")
@click.option("--runner", help="Look at this box alone.")
@click.option("--runtime", metavar="NAME", help="An OCI runtime of the engine.")
@click.option("--image", default="python", metavar="NAME", help="What runs in it (conformance).")
@json_option
def doctor(
    *, conformance: bool, runner: str | None, runtime: str | None, image: str, as_json: bool
) -> int:
    """Say which boxes work here, which do not, and exactly why.

    Exit 0 when a box can be used, 1 when none can, also where --runner names one that cannot.
    With --conformance: 1 too when a check fails.
    """
    from runners import all_runners

    boxes = [box for box in all_runners(runtime) if runner in {None, box.name}]
    if not boxes:
        raise click.BadParameter(f"there is no box {runner!r}", param_hint="--runner")
    if conformance:
        from harness.cli.conformance import hold

        return hold(boxes, image, as_json=as_json)
    probes = asyncio.run(probe_each(boxes))
    if as_json:
        print_json({"boxes": [record(probe) for probe in probes]})
    else:
        for probe in probes:
            put(lines(probe))
    return 0 if usable(probes) else 1


async def probe_each(boxes: Sequence[Runner]) -> list[Probe]:
    """What each box says of this machine."""
    return list(await asyncio.gather(*(box.probe() for box in boxes)))


def usable(probes: Sequence[Probe]) -> bool:
    """Whether any box works."""
    return any(probe.ok for probe in probes)


def record(probe: Probe) -> dict[str, Any]:
    """One box for machines."""
    return {
        "name": probe.name,
        "status": "passed" if probe.ok else "failed",
        "isolation": probe.isolation.label,
        "reason": probe.reason,
        "cure": probe.cure,
        "facts": dict(probe.facts),
    }


def lines(probe: Probe) -> str:
    """One box for people."""
    state = f"works, level {probe.isolation.label}" if probe.ok else "does not work here"
    text = f"{probe.name}: {state}"
    if probe.reason:
        text += f"\n  {'but' if probe.ok else 'why'}: {probe.reason}"
    if probe.cure:
        text += f"\n  cure: {probe.cure}"
    facts = "".join(f"\n  {name}: {value}" for name, value in probe.facts.items())
    return text + facts
