"""``stockade gc``: removes what dead harnesses left behind, and nothing else."""

from __future__ import annotations

import asyncio

import click

from harness.cli.options import json_option, print_json
from harness.cli.terminal import put, say

__all__ = ["gc"]


@click.command()
@json_option
def gc(*, as_json: bool) -> None:
    """Remove containers, folders and claims whose owner is dead."""
    swept = asyncio.run(sweep_all())
    if as_json:
        print_json({"removed": swept})
        return
    for line in swept:
        put(line)
    if not swept:
        put("nothing to remove")


async def sweep_all() -> list[str]:
    """Every box that can be reached sweeps; one that cannot has nothing here."""
    from harness.run.work import sweep_scratch
    from runners import RunnerError, all_runners
    from runners.workspace import sweep_folders

    swept = sweep_scratch() + sweep_folders()
    for runner in all_runners():
        try:
            swept += await runner.sweep()
        except RunnerError as error:
            say(f"{runner.name}: {error}")
    return swept
