"""``stockade runs``: what was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import FILE, json_option, print_json
from harness.cli.recorded import RECORDED
from harness.cli.terminal import inline, put, say
from harness.run.folder import RunFolder, find_run, list_runs

if TYPE_CHECKING:
    from harness.record import Verification

__all__ = ["runs"]


@click.group()
def runs() -> None:
    """List, show and verify recorded runs. RUN is an id, a path, or `latest`."""


@runs.command("list")
@click.option("--status", metavar="S", help="Only those that ended so: completed, step_limit ...")
@click.option("--verdict", type=click.Choice(["passed", "failed", "broken", "none"]))
@click.option("--task", metavar="TEXT", help="Only tasks whose name holds TEXT.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the newest N.")
@json_option
def list_command(
    *, status: str | None, verdict: str | None, task: str | None, limit: int | None, as_json: bool
) -> None:
    """List the runs of this user, newest first."""
    wanted = {"status": status, "verdict": verdict}
    found = (
        one
        for one in map(row, list_runs())
        if all(value is None or one[key] == value for key, value in wanted.items())
        and (task is None or task in str(one["task"]))
    )
    rows = list(islice(found, limit))
    if as_json:
        print_json(rows)
        return
    for one in rows:
        code = "-" if one["exit_code"] is None else one["exit_code"]
        put(
            inline(
                f"{one['run']}  {one['status']!s:<14} {one['verdict']!s:<7} {code!s:>3}  "
                f"{one['task']}"
            )
        )


def row(folder: RunFolder) -> dict[str, Any]:
    """One line of the list; a run without a result is still going on or was killed."""
    result = folder.read_result() or {}
    return {
        "run": folder.id,
        "task": result.get("task") or folder.first_record().get("task") or "",
        "status": result.get("status", "unfinished"),
        "verdict": result.get("verdict", "none"),
        "exit_code": result.get("exit_code"),
        "path": str(folder.path),
    }


@runs.command()
@click.argument("run")
@json_option
def show(run: str, *, as_json: bool) -> int:
    """Show what happened in a run, as far as its log goes.

    Exit 2 where the log holds what is no record; it is shown up to there.
    """
    folder = find_run(run)
    events, fault = readable(folder.events)
    result = folder.read_result()
    code = 2 if fault else 0
    if as_json:
        print_json({**row(folder), "result": result, "events": events, "fault": fault})
        return code
    draw(events)
    if fault:
        say(inline(f"the log ends here: {fault}"))
    if result is None:
        say("there is no result: the run goes on, or it was killed")
    return code


def readable(path: Path) -> tuple[list[dict[str, Any]], str]:
    """The records up to the first that cannot be read, and why that one cannot."""
    from harness.errors import LogError
    from harness.record import read_events

    records: list[dict[str, Any]] = []
    try:
        records.extend(read_events(path))
    except LogError as error:
        return records, str(error)
    return records, ""


WIDE = 140
"""Columns where there is no terminal that says how many it has."""


def draw(events: list[dict[str, Any]]) -> None:
    """The timeline, in colours where a terminal takes them."""
    from rich.console import Console

    from harness.cli.timeline import Timeline, drawn

    console = Console(highlight=False)
    width = console.width if console.is_terminal else WIDE
    timeline = Timeline()
    for event in events:
        for line in timeline.take(event):
            console.print(drawn(line, width), soft_wrap=True)
    for line in timeline.open_calls():
        console.print(drawn(line, width), soft_wrap=True)


@runs.command()
@click.argument("run")
@click.option("--head", metavar="HASH", help="The head that was printed at the end of the run.")
@click.option("--key", type=FILE, metavar="FILE", help="The key that the log was sealed with.")
@json_option
def verify(run: str, head: str | None, key: Path | None, *, as_json: bool) -> int:
    """Check that a log is whole: exit 0; damaged, incomplete or cut: exit 1; no log: exit 2.

    Without --head or --key, a log that was edited and chained anew from there on is not told from
    a true one; the head in result.json is compared, but lies beside the log.
    """
    from harness.record import verify as verify_log
    from harness.run.recording import read_key

    folder = find_run(run)
    found = verify_log(folder.events, head=head, key=read_key(key) if key else None)
    if not found.code:
        found = beside_result(found, folder)
    if as_json:
        print_json(
            {
                "run": folder.id,
                "ok": found.code == 0,
                "problem": found.problem,
                "record": found.record,
                "records": found.records,
                "head": found.head,
                "anchored": found.anchored,
                "ended": found.ended,
            }
        )
        return found.code
    if found.code:
        put(inline(f"{folder.id}: {found.problem}"))
        return found.code
    if not folder.result.exists():
        say(inline(f"{folder.id}: the run ended, but there is no result.json beside its log"))
    anchor = f"anchored by its {found.anchored}" if found.anchored else "unanchored"
    put(inline(f"{folder.id}: {found.records} records, whole, {anchor}, head {found.head}"))
    return 0


BOTH = ("status", "verdict", "exit_code")
"""What the last record and the result both say."""


def beside_result(found: Verification, folder: RunFolder) -> Verification:
    """Compared with what the result says: no proof, but an edit that forgot it is found."""
    if not folder.result.exists():
        return found
    result = folder.read_result()
    if result is None:
        return replace(found, code=1, problem="damaged: result.json is no JSON object")
    differences = list(differing(found, result))
    if not differences:
        return found
    return replace(found, code=1, problem=f"damaged: {'; '.join(differences)}")


def differing(found: Verification, result: dict[str, Any]) -> Iterator[str]:
    """What result.json says otherwise than the log."""
    log = result.get("log")
    said = log if isinstance(log, dict) else {}
    if "head" in said and said["head"] != found.head:
        yield f"result.json says that its head is {said.get('head')}, but it is {found.head}"
    if "records" in said and said["records"] != found.records:
        yield f"result.json says {said.get('records')} records, but there are {found.records}"
    for key in BOTH:
        if key in found.end and key in result and result[key] != found.end[key]:
            yield f"result.json says {key} {result[key]!r}, but the log {found.end[key]!r}"


@runs.command()
def schema() -> None:
    """Print the JSON Schema of one record of a log."""
    from harness.event_schema import event_schema

    print_json(event_schema())


for one in RECORDED:
    runs.add_command(one)
