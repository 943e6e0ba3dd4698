"""Run as a user who is not root: each local box once, what it is and what a program sees."""

from __future__ import annotations

import asyncio
import json
import sys

from policies import Pipeline, Stage
from runners.bubblewrap import BubblewrapRunner
from runners.conformance import CHECKS, known_gaps, run_check
from runners.contract import Runner, SessionSpec
from runners.process import ProcessRunner

BOXES = {
    "bubblewrap": BubblewrapRunner,
    "process": ProcessRunner,
    "plain-process": lambda: ProcessRunner(namespaces=False),
}


async def once(runner: Runner) -> dict[str, object]:
    probe = await runner.probe()
    if not probe.ok:
        return {"missing": probe.reason}
    session = await runner.open(SessionSpec(run="plain"))
    try:
        outcome = await session.run(Pipeline((Stage(("sh", "-c", "id -u; touch here; ls")),)))
        return {
            "isolation": session.isolation.label,
            "way": probe.facts.get("way", ""),
            "said": outcome.stdout.text().split(),
        }
    finally:
        await session.close()


async def conformance(runner: Runner) -> dict[str, str]:
    gaps = known_gaps(await runner.probe())
    items = [await run_check(runner, check, "python", gaps.get(check.name)) for check in CHECKS]
    return {item.name: item.reason for item in items if item.status == "failed"}


if __name__ == "__main__":
    work = {"once": once, "conformance": conformance}[sys.argv[2]]
    sys.stdout.write(json.dumps(asyncio.run(work(BOXES[sys.argv[1]]()))))
