"""``stockade runs``: what was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.options import json_option, print_json
from harness.cli.recorded import RECORDED
from harness.cli.terminal import say, visible
from harness.run.folder import RunFolder, find_run, list_runs

__all__ = ["runs"]


@click.group()
def runs() -> None:
    """List, show and verify recorded runs. RUN is an id, a path, or `latest`."""


@runs.command("list")
@json_option
def list_command(*, as_json: bool) -> None:
    """List the runs of this user, newest first."""
    rows = [row(folder) for folder in list_runs()]
    if as_json:
        print_json(rows)
        return
    for one in rows:
        code = "-" if one["exit_code"] is None else one["exit_code"]
        click.echo(
            f"{one['run']}  {one['status']:<14} {one['verdict']:<7} {code:>3}  "
            f"{visible(str(one['task']))}"
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
def show(run: str, *, as_json: bool) -> None:
    """Show what happened in a run, as far as its log goes."""
    folder = find_run(run)
    events, fault = readable(folder.events)
    result = folder.read_result()
    if as_json:
        print_json({**row(folder), "result": result, "events": events, "fault": fault})
        return
    for event in events:
        click.echo(line(event))
    if fault:
        say(f"the log ends here: {fault}")
    if result is None:
        say("there is no result: the run goes on, or it was killed")
    else:
        one = row(folder)
        click.echo(f"{one['status']} · {one['verdict']} · exit {one['exit_code']}")


def readable(path: Path) -> tuple[list[dict[str, Any]], str]:
    """The records up to the first that cannot be read, and why that one cannot."""
    from harness.record import read_events

    records: list[dict[str, Any]] = []
    try:
        records.extend(read_events(path))
    except Exception as error:
        return records, str(error)
    return records, ""


HIDDEN = frozenset({"seq", "hash", "type", "run", "at", "t", "step", "call"})


def line(event: dict[str, Any]) -> str:
    """One record in one line."""
    where = "".join(
        f" {key} {event[key]}" for key in ("step", "call") if event.get(key) is not None
    )
    rest = " ".join(f"{key}={short(value)}" for key, value in event.items() if key not in HIDDEN)
    return visible(f"{event.get('seq', '?'):>4}  {event.get('type', '?'):<16}{where}  {rest}")


def short(value: Any) -> str:  # noqa: ANN401 - whatever a log holds
    """A value that fits a line."""
    text = value if isinstance(value, str) else repr(value)
    text = text.replace("\n", "\\n")
    return text if len(text) <= 100 else text[:97] + "..."


@runs.command()
@click.argument("run")
@json_option
def report(run: str, *, as_json: bool) -> None:
    """Write report.html into the run's folder: one page that needs nothing else."""
    from harness.report import write_report

    path = write_report(find_run(run).path)
    if as_json:
        print_json({"path": str(path)})
        return
    click.echo(path)


@runs.command()
@click.argument("run")
@click.option("--head", metavar="HASH", help="The head that was printed at the end of the run.")
@click.option(
    "--key",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The key the log was sealed with.",
)
@json_option
def verify(run: str, head: str | None, key: Path | None, *, as_json: bool) -> int:
    """Check that a log is whole: exit 0; damaged, incomplete or cut: exit 1."""
    from harness.record import verify as verify_log

    folder = find_run(run)
    found = verify_log(folder.events, head=head, key=key.read_bytes() if key else None)
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
        click.echo(f"{folder.id}: {found.problem}")
        return found.code
    anchor = f"anchored by its {found.anchored}" if found.anchored else "unanchored"
    click.echo(f"{folder.id}: {found.records} records, whole, {anchor}, head {found.head}")
    return 0


for one in RECORDED:
    runs.add_command(one)
