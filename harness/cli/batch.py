"""``stockade batch``: many tasks, one verdict that a machine can use."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import (
    FILE,
    NEW_FILE,
    SECONDS,
    FiniteFloat,
    box_options,
    json_option,
    print_json,
    task_env_option,
)
from harness.cli.run import FOLDER, POSITIVE
from harness.cli.terminal import inline, say

if TYPE_CHECKING:
    from harness.batch import BatchJob, Score
    from harness.batch.attempt import Attempt
    from harness.batch.job import Entry
    from harness.batch.watch import BatchWatch

__all__ = ["batch"]

SOURCES = click.Path(path_type=Path)


@click.command()
@click.argument("sources", nargs=-1, required=True, type=SOURCES)
@box_options
@click.option("--agent", type=click.Choice(["model", "oracle", "nop"]), default="model")
@click.option("--model", metavar="SPEC", help="scripted:FILE, openai:NAME, anthropic:NAME.")
@click.option("--max-steps", type=POSITIVE, metavar="N", help="Lower the budget of steps.")
@click.option("--max-tool-calls", type=POSITIVE, metavar="N", help="Lower that of tool calls.")
@click.option("--fail-on-denial", is_flag=True, help="Exit 4 if anything was denied.")
@click.option("--locked", is_flag=True, help="Refuse to run what differs from an earlier run.")
@click.option("--strict-network", is_flag=True, help="Refuse tasks silent on the network.")
@task_env_option
@click.option("-j", "jobs", type=POSITIVE, metavar="N", help="Runs side by side; the cores.")
@click.option("--attempts", type=POSITIVE, default=1, metavar="N", help="Runs of each task.")
@click.option("--retries", type=click.IntRange(0), default=1, metavar="N",
              help="Further tries where the machine failed, and only there.")  # fmt: skip
@click.option("--filter", "pattern", metavar="PATTERN", help="Only tasks with such a name.")
@click.option("--fail-fast", is_flag=True, help="Start nothing after a task that did not pass.")
@click.option("--deadline", type=SECONDS, metavar="S", help="Seconds for the whole batch.")
@click.option("--out", type=FOLDER, metavar="DIR",
              help="The batch's folder; named again it takes an interrupted batch up.")  # fmt: skip
@click.option("--junit", type=NEW_FILE, metavar="FILE", help="Write JUnit XML.")
@click.option("--sarif", type=NEW_FILE, metavar="FILE", help="Write denials as SARIF 2.1.0.")
@click.option("--summary", type=NEW_FILE, metavar="FILE", help="Write Markdown (.json: JSON).")
@click.option("--min-pass", type=FiniteFloat(0, 1), metavar="X",
              help="The share of tasks that must pass, 0 to 1.")  # fmt: skip
@click.option("--baseline", type=FILE, metavar="FILE",
              help="JSON summary of an earlier batch: only regressions fail.")  # fmt: skip
@json_option
def batch(*, as_json: bool, **given: Any) -> int:  # noqa: ANN401 - click's own values
    """Run all tasks of SOURCES: folders of tasks, task folders, or files that list them.

    \b
    The exit code is the worst of the tasks, each by its best attempt:
    130/143 cancelled · 3 infrastructure · 8 verifier broken · 7 model ·
    6 budget · 5 no answer · 4 denied · 1 not passed · 0. With --min-pass or
    --baseline, 1, 5 and 6 count as not passed, and the bar decides.
    """  # noqa: D301 - click reads this backspace as "do not wrap"
    from harness.batch import batch_code, make_batch, run_batch
    from harness.batch.attempt import INFRASTRUCTURE
    from harness.batch.score import worst
    from harness.batch.summary import record
    from harness.cli.loop import run_until_stopped

    files = {key: given.pop(key) for key in ("junit", "sarif", "summary")}
    job = make_batch(batch_options(given))
    started = time.monotonic()
    watch = watcher(job)
    with watch:
        found = run_until_stopped(lambda stop: run_batch(job, stop=stop, watch=watch))
    summary = record(job, found, seconds=time.monotonic() - started)
    complete = write_files(job, found, summary, files)
    if as_json:
        print_json(summary)
    table(summary)
    code = batch_code(found, min_pass=job.options.min_pass)
    return code if complete else worst(code, INFRASTRUCTURE)


def batch_options(given: dict[str, Any]) -> Any:  # noqa: ANN401
    """The options as the batch takes them."""
    from harness.batch import BatchOptions
    from harness.cli.options import take_box
    from harness.run.options import RunOptions

    box = take_box({**given, "patch": None, "apply": False})
    for key in ("policy", "workspace", "runner", "runtime", "image", "timeout", "include",
                "accept_isolation"):  # fmt: skip
        given.pop(key, None)
    names = ("agent", "model", "max_steps", "max_tool_calls", "fail_on_denial", "locked",
             "strict_network", "task_env")  # fmt: skip
    run = RunOptions(box=replace(box, patch=None), **{name: given.pop(name) for name in names})
    jobs = given.pop("jobs") or os.cpu_count() or 1
    return BatchOptions(run=run, jobs=jobs, **given)


def write_files(
    job: BatchJob, found: Score, summary: dict[str, Any], files: dict[str, Path | None]
) -> bool:
    """What the flags ask for, and the summary in the batch's own folder; whether all was written.

    One that cannot be written is told, and takes none of the others with it.
    """
    from harness.batch.summary import markdown

    text = json.dumps(summary, indent=2) + "\n"
    asked = files["summary"]
    wants_json = asked is not None and asked.suffix == ".json"
    return all(
        [
            written(job.folder / "summary.json", lambda: text),
            written(asked, lambda: text if wants_json else markdown(summary)),
            written(files["junit"], lambda: junit_of(found)),
            written(files["sarif"], lambda: sarif_of(job, found)),
        ]
    )


def written(path: Path | None, make: Callable[[], str]) -> bool:
    """Write a file that is asked for; False, and a sentence, where it could not be written."""
    if path is None:
        return True
    try:
        path.write_text(make(), "utf-8")
    except OSError as error:
        say(f"{inline(path)}: cannot be written: {error.strerror}")
        return False
    return True


def junit_of(found: Score) -> str:
    """Every task by its best attempt, as JUnit XML."""
    from harness.export.junit import junit

    results = [{**task.best.result, "task": task.best.task} for task in found.tasks]
    results += [{"task": name, "status": "skipped"} for name in found.skipped]
    return junit(results, name="stockade.batch")


def sarif_of(job: BatchJob, found: Score) -> str:
    """What was denied in all attempts, as SARIF."""
    from harness.batch.sarif import sarif

    runs = [(a.task, a.folder) for t in found.tasks for a in t.attempts if a.folder]
    return json.dumps(sarif(runs, root=job.folder), indent=1) + "\n"


def watcher(job: BatchJob) -> Any:  # noqa: ANN401 - a watch that is a context manager
    """A live table on a terminal, plain lines elsewhere."""
    if sys.stderr.isatty() and not os.environ.get("CI"):
        from harness.cli.progress import LiveWatch

        return LiveWatch(len(job.entries) * job.options.attempts)
    return LineWatch()


class LineWatch:
    """One line for each attempt that is over."""

    def __enter__(self) -> BatchWatch:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def began(self, entry: Entry, number: int) -> None:
        """Starts are not worth a line."""

    def ended(self, attempt: Attempt, done: int, total: int) -> None:
        """How an attempt ended."""
        from harness.batch.summary import word

        again = f", try {attempt.tries}" if attempt.tries > 1 else ""
        error = attempt.result.get("error")
        why = f": {inline(str(error)[:200])}" if error else ""
        name = attempt.task if attempt.number == 1 else f"{attempt.task} #{attempt.number}"
        outcome = word(attempt.exit_code)
        say(f"[{done}/{total}] {inline(name)}: {outcome}{again} ({attempt.seconds:.1f} s){why}")

    def say(self, text: str) -> None:
        """A remark."""
        say(text)


def table(summary: dict[str, Any]) -> None:
    """The last lines for a person."""
    from harness.batch.summary import word

    failed = [task for task in summary["tasks"] if not task["passed"]]
    for task in failed:
        say(f"  {inline(task['name'])}: {word(task['exit_code'])}")
    if summary["skipped"]:
        say(f"  not run: {', '.join(map(inline, summary['skipped']))}")
    if summary.get("regressions"):
        say(f"  passed before, not now: {', '.join(map(inline, summary['regressions']))}")
    shares = ", ".join(f"pass@{k} {share:.1%}" for k, share in summary["pass_at"].items())
    say(
        f"{summary['passed']} of {summary['total']} passed ({shares or 'nothing ran'}), "
        f"{summary['seconds']:.1f} s, exit {summary['exit_code']}"
    )
    say(inline(f"summary {summary['folder']}/summary.json"))
