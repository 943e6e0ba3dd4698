"""``stockade runs`` on what was recorded: export, report, diff, replay, redecide, resume, prune."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import NEW_FILE, FiniteFloat, json_option, print_json
from harness.cli.terminal import document, inline, put, say
from harness.run.folder import RunFolder, find_run

if TYPE_CHECKING:
    from harness.replay import Redecision, Replayed
    from policies import Policy

__all__ = ["RECORDED"]


@click.command()
@click.argument("run")
@click.option("--to", "name", default="atif", show_default=True, metavar="FORMAT",
              help="atif, openai, mini, swebench, junit or script.")  # fmt: skip
@click.option("--out", type=NEW_FILE, help="Write to a file instead of standard output.")
@json_option
def export(run: str, *, name: str, out: Path | None, as_json: bool) -> None:
    """Write a run in the format of another tool.

    atif: ATIF v1.8 of Harbor. openai: chat messages. mini: mini-swe-agent's .traj.json. swebench:
    preds.json. junit: JUnit XML. script: a script that gives the same answers again.
    """
    from harness.export import Exported
    from harness.export import export as write
    from harness.recall import recall

    folder = find_run(run)
    patch = folder.patch.read_text("utf-8", "replace") if folder.patch.exists() else ""
    text = write(name, Exported(recall(records_of(folder)), folder.read_result() or {}, patch))
    if out is None:
        document(text)
        return
    out.write_text(text, "utf-8")
    if as_json:
        print_json({"run": folder.id, "format": name, "path": str(out)})
    else:
        say(inline(f"{folder.id} as {name}: {out}"))


@click.command()
@click.argument("run")
@click.option("--out", type=NEW_FILE, help="Write there instead of into the run folder.")
@json_option
def report(run: str, *, out: Path | None, as_json: bool) -> None:
    """Draw a run as one HTML file that needs nothing else."""
    from harness.report import write_report

    path = write_report(find_run(run).path, out)
    if as_json:
        print_json({"path": str(path)})
    else:
        put(inline(path))


@click.command()
@click.argument("run")
@click.option("--policy", "policy_name", metavar="NAME|FILE", help="Judge under this one instead.")
@click.option("--box", "in_box", is_flag=True, help="Run the calls again in a fresh box.")
@click.option("--accept-drift", is_flag=True, help="With --box: even if it is made of other parts.")
@json_option
def replay(
    run: str, *, policy_name: str | None, in_box: bool, accept_drift: bool, as_json: bool
) -> int:
    """Let the recorded answers drive the loop again, with recorded results in place of a box.

    Exit 0 when everything happens as recorded, 1 at the first difference in a request, the order
    of calls, a verdict or a result, 2 when there is nothing to replay.

    With --box the calls run again, and all results that differ are shown. Programs that end as
    recorded and print something else are shown as well, but are no difference: what they print
    may hold times.
    """
    from harness.errors import ConfigError

    folder = find_run(run)
    records = records_of(folder)
    if in_box and policy_name is not None:
        raise ConfigError("--box judges by the policy of the run; leave --policy out")
    damage = damage_of(folder, records)
    if damage:
        say(inline(damage))
    if in_box:
        found = replay_in_box(folder, records, accept_drift=accept_drift)
    else:
        found = replay_alone(records, policy_name or recorded_policy(folder, records))
    differences = [difference.text() for difference in found.differences]
    texts = [difference.text() for difference in found.texts]
    if as_json:
        print_json(
            {
                "run": folder.id,
                "same": found.same and not damage,
                "damage": damage or None,
                "compared": found.compared,
                "recorded": found.recorded,
                "differences": differences,
                "texts": texts,
            }
        )
        return 0 if found.same and not damage else 1
    for text in texts:
        put(f"(printed otherwise) {text}")
    for text in differences:
        put(text)
    total = f"{folder.id}: {found.compared} of {found.recorded} records as recorded"
    put(f"{total}, {len(differences)} different, {len(texts)} printed otherwise")
    return 0 if found.same and not damage else 1


def damage_of(folder: RunFolder, records: Sequence[dict[str, Any]]) -> str:
    """Where the chain of a log breaks, or nothing: what was edited proves nothing by replaying."""
    from harness.record import scan

    found = scan(folder.events)
    if not found.code or found.torn:
        return ""
    number = found.record
    record = records[number] if number is not None and number < len(records) else {}
    where = f"step {record['step']}, {record['type']}: " if record.get("step") else ""
    return f"{folder.id}: the log was changed: {where}{found.problem}"


def replay_alone(records: Sequence[dict[str, Any]], policy: str) -> Replayed:
    """With recorded results in place of a box."""
    from harness.artifact import ArtifactStore
    from harness.replay import replay as replay_run
    from runners.workspace import scratch_folder

    judge = load_policy(policy)
    with scratch_folder("replay") as scratch:
        return asyncio.run(replay_run(records, judge, artifacts=ArtifactStore(scratch)))


def replay_in_box(
    folder: RunFolder, records: Sequence[dict[str, Any]], *, accept_drift: bool
) -> Replayed:
    """In a fresh session of what the run was made of."""
    from harness.cli.loop import run_until_stopped
    from harness.run.audience import Silence
    from harness.run.rerun import rerun

    return run_until_stopped(
        lambda stop: rerun(
            folder, records, audience=Silence(), stop=stop, accept_drift=accept_drift
        )
    )


@click.command()
@click.argument("run", nargs=-1, required=True)
@click.option("--policy", "policy_name", required=True, metavar="NAME|FILE",
              help="The policy to judge under.")  # fmt: skip
@click.option("--all", "show_all", is_flag=True, help="List calls whose decision stays, too.")
@json_option
def redecide(run: tuple[str, ...], *, policy_name: str, show_all: bool, as_json: bool) -> int:
    """Judge every call of recorded runs under another policy; no model, no box.

    Exit 0 when no decision changes, 1 when some do: for a job that checks a change of policy.
    """
    policy = load_policy(policy_name)
    made = asyncio.run(redecide_all([find_run(one) for one in run], policy))
    changed = [one for one in made if one.changed]
    shown = made if show_all else changed
    if as_json:
        print_json(
            {
                "policy": {"name": policy.name, "digest": policy.digest},
                "calls": len(made),
                "changed": len(changed),
                "decisions": [one.record() for one in shown],
            }
        )
        return 1 if changed else 0
    for one in shown:
        after = one.after.decision.label
        arrow = f"{one.before} -> {after}" if one.changed else after
        why = "" if after == "allow" else f"  [{one.after.reason}]"
        put(inline(f"{one.run} step {one.step:>3}  {arrow:<14} {one.action}{why}"))
    say(f"{len(made)} calls, {len(changed)} decided otherwise under {policy.name}")
    return 1 if changed else 0


async def redecide_all(folders: Sequence[RunFolder], policy: Policy) -> list[Redecision]:
    """The calls of several runs, in order."""
    from harness.replay import redecide as redecide_run

    made: list[Redecision] = []
    for folder in folders:
        made += await redecide_run(records_of(folder), policy)
    return made


@click.command()
@click.argument("first")
@click.argument("second")
@json_option
def diff(first: str, second: str, *, as_json: bool) -> int:
    """Compare two runs: what they are made of, what was called, how they ended.

    Exit 0 when nothing differs, else 1.
    """
    from harness.run.contrast import contrast

    found = contrast(find_run(first), find_run(second))
    if as_json:
        print_json(found.record())
    else:
        for line in found.lines():
            put(inline(line))
    return 1 if found.differs else 0


@click.command()
@click.option("--keep", type=click.IntRange(0), metavar="N", help="Keep the newest N runs.")
@click.option("--older-than", type=FiniteFloat(0), metavar="DAYS", help="Only older ones.")
@click.option("--dry-run", is_flag=True, help="Say what would go; remove nothing.")
@json_option
def prune(*, keep: int | None, older_than: float | None, dry_run: bool, as_json: bool) -> None:
    """Remove the folders of runs that are over. One that goes on is never touched."""
    from harness.errors import ConfigError
    from harness.run.prune import prune_runs

    if keep is None and older_than is None:
        raise ConfigError("say which runs go: --keep N, --older-than DAYS, or both")
    removed = prune_runs(keep=keep or 0, older_than_days=older_than or 0.0, dry_run=dry_run)
    if as_json:
        print_json({"removed": [str(path) for path in removed], "dry_run": dry_run})
        return
    for path in removed:
        put(inline(path))
    say(f"{len(removed)} run folders {'would go' if dry_run else 'removed'}")


@click.command()
@click.argument("run")
@click.option("--accept-drift", is_flag=True, help="Go on where things come out otherwise.")
@click.option("--rerun-unknown", is_flag=True, help="Run calls again whose outcome is unknown.")
@click.option("--close", is_flag=True, help="Do not go on: end the record, as aborted.")
@json_option
def resume(run: str, *, accept_drift: bool, rerun_unknown: bool, close: bool, as_json: bool) -> int:
    """Take a run up whose harness died.

    The recorded calls are run again in a fresh session and compared; at the first difference it
    stops. Then the conversation goes on. A call without a result is 'outcome unknown'. Exit codes
    are those of `run`; 2 when there is nothing to take up.
    """
    from harness.cli.audience import watched
    from harness.run import make_job, run_job
    from harness.run.closing import restore_result
    from harness.run.resumption import EndedError, find_resumption

    folder = find_run(run)
    try:
        if close:
            return end_record(folder, as_json=as_json)
        options, resumption = find_resumption(
            folder, accept_drift=accept_drift, rerun_unknown=rerun_unknown
        )
    except EndedError as error:
        restored = restore_result(folder)
        if restored is None:
            raise
        missing, result = restored
        say(inline(f"{error}; {missing} was missing, and is written from its log"))
        if as_json:
            print_json(result)
        return int(result["exit_code"])
    job = make_job(options)
    return watched(
        lambda stop, audience: run_job(job, audience=audience, stop=stop, resumption=resumption),
        as_json=as_json,
    )


def end_record(folder: RunFolder, *, as_json: bool) -> int:
    """End the record of a run that nobody goes on with."""
    from harness.config import load_config
    from harness.run.closing import close_run
    from harness.run.recording import recording_of

    options = folder.read_options()
    key = None if options is None else options.key
    result = close_run(folder, recording_of(load_config(), os.environ, key))
    if as_json:
        print_json(result)
    else:
        say(f"{folder.id}: closed, as aborted")
    return 0


def records_of(folder: RunFolder) -> list[dict[str, Any]]:
    """The records of a run."""
    from harness.record import read_events

    return list(read_events(folder.events))


def recorded_policy(folder: RunFolder, records: Sequence[dict[str, Any]]) -> str:
    """The policy that a run was judged by, where it can be found by its name again."""
    from harness.errors import ConfigError
    from policies import profile_names

    said = (records[0].get("policy") if records else None) or {}
    source = said.get("source") or said.get("name")
    if source in profile_names() or (source and Path(str(source)).is_file()):
        return str(source)
    raise ConfigError(f"{folder.id}: its policy {source!r} is no profile; name it with --policy")


def load_policy(name: str) -> Policy:
    """A policy by name or file."""
    from policies import load

    return load(name)


RECORDED = (export, report, replay, redecide, diff, resume, prune)
"""What the group `runs` takes up."""
