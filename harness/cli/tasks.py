"""``stockade tasks``: for those who write tasks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import RUNNERS, json_option, print_json, task_env_option
from harness.cli.terminal import inline, put, say

if TYPE_CHECKING:
    from harness.config import Config
    from harness.run import Job, Report, Stop

__all__ = ["tasks"]

SOURCES = click.Path(path_type=Path)


@click.group()
def tasks() -> None:
    """Check, lint and begin tasks."""


@tasks.command()
@click.argument("sources", nargs=-1, required=True, type=SOURCES)
@click.option("--run", "proof", is_flag=True, help="Prove that nop fails and oracle passes.")
@click.option("--runner", type=RUNNERS, help="The box for --run.")
@click.option("--policy", metavar="NAME|FILE", help="The policy for --run.")
@click.option("--strict-network", is_flag=True, help="Refuse tasks silent on the network.")
@task_env_option
@json_option
def check(
    *,
    sources: tuple[Path, ...],
    proof: bool,
    runner: str | None,
    policy: str | None,
    strict_network: bool,
    task_env: tuple[str, ...],
    as_json: bool,
) -> int:
    """Say what tasks need and lack: every problem with its file, its key and the fix.

    \b
    SOURCES are task folders, folders of them, or files that list them.
    Exit codes: 0 fine · 1 --run shows that nop passes or oracle does not ·
    2 a task cannot be used · 3 the machine failed, or lacks what is needed for --run.
    """  # noqa: D301 - click reads this backspace as "do not wrap"
    from harness.batch.job import find_tasks
    from harness.config import load_config
    from harness.run.given import given_variables

    config = load_config()
    given = given_variables(task_env, config, os.environ)
    rows = [
        checked(entry.folder, config, given, strict_network=strict_network)
        for entry in find_tasks(sources)
    ]
    code = 2 if any(row["problems"] for row in rows) else 0
    if proof:
        for row in rows:
            if not row["problems"]:
                row["proof"] = prove(Path(row["folder"]), runner, policy, task_env)
        code = code or max((worse(row["proof"]) for row in rows if row.get("proof")), default=0)
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            tell(row)
    return code


def checked(
    folder: Path, config: Config, given: Mapping[str, str], *, strict_network: bool
) -> dict[str, Any]:
    """One task as a row."""
    from harness.task import TaskError, load_task
    from harness.task.authoring import needs_of

    row: dict[str, Any] = {"folder": str(folder), "name": folder.name, "problems": []}
    try:
        task = load_task(folder, strict_network=strict_network, environ=given)
    except TaskError as error:
        return {**row, "problems": [asdict(one) for one in error.problems]}
    needs = needs_of(task, config)
    return {
        **row,
        "name": task.name,
        "warnings": list(task.warnings),
        "needs": [asdict(need) for need in needs],
    }


def prove(
    folder: Path, runner: str | None, policy: str | None, task_env: tuple[str, ...]
) -> dict[str, Any]:
    """What nop and oracle come to."""
    from harness.cli.loop import run_until_stopped
    from harness.run import BoxOptions, RunOptions, make_job

    found: dict[str, Any] = {}
    for agent in ("nop", "oracle"):
        box = BoxOptions(policy=policy, runner=runner)
        options = RunOptions(box, task=folder, agent=agent, task_env=task_env)
        report = run_until_stopped(partial(run_silently, make_job(options)))
        kept = ("exit_code", "verdict", "error")
        found[agent] = {key: report.record[key] for key in kept}
        found[agent]["reason"] = report.record["verification"]["reason"]
    codes = (found["nop"]["exit_code"], found["oracle"]["exit_code"])
    found["ok"] = codes == (1, 0) and found["oracle"]["verdict"] == "passed"
    return found


async def run_silently(job: Job, stop: Stop) -> Report:
    """A run that nobody watches."""
    from harness.run import Silence, run_job

    return await run_job(job, audience=Silence(), stop=stop)


def worse(proof: dict[str, Any]) -> int:
    """The exit code that a proof asks for."""
    if proof["ok"]:
        return 0
    codes = {proof["nop"]["exit_code"], proof["oracle"]["exit_code"]}
    return max({130, 143, 3} & codes, default=1)


def tell(row: dict[str, Any]) -> None:
    """One task for people."""
    from harness.task import Problem
    from harness.task.authoring import Need

    put(inline(f"{row['name']}  ({row['folder']})"))
    for problem in row["problems"]:
        put(inline(f"  problem  {Problem(**problem)}"))
    for warning in row.get("warnings", []):
        put(inline(f"  warning  {warning}"))
    for need in row.get("needs", []):
        put(inline(f"  needs    {Need(**need)}"))
    proof = row.get("proof")
    if proof is not None:
        for agent, wanted in (("nop", 1), ("oracle", 0)):
            code, reason = (
                proof[agent]["exit_code"],
                proof[agent]["error"] or proof[agent]["reason"],
            )
            mark = "as it should" if code == wanted else f"should be {wanted}"
            put(inline(f"  {agent:7}  exit {code}, {mark}: {reason}"))
    if not row["problems"] and (proof is None or proof["ok"]):
        put("  fine")


@tasks.command()
@click.argument("sources", nargs=-1, required=True, type=SOURCES)
@json_option
def lint(*, sources: tuple[Path, ...], as_json: bool) -> int:
    """Name what is valid and still unwise: leaked tests, unpinned images, root, mounts, network.

    Exit codes: 0 nothing but notes · 1 something.
    """
    from harness.batch.job import find_tasks
    from harness.task.authoring import lint_task

    rows = [(entry.folder, lint_task(entry.folder)) for entry in find_tasks(sources)]
    if as_json:
        print_json(
            [
                {"folder": str(folder), **asdict(one), "level": one.level}
                for folder, found in rows
                for one in found
            ]
        )
    else:
        for folder, found in rows:
            for one in found:
                put(inline(f"{folder}/{one}"))
    total = sum(len(found) for _, found in rows)
    warnings = sum(one.level == "warning" for _, found in rows for one in found)
    say(f"{len(rows)} tasks, {warnings} warnings, {total - warnings} notes")
    return 1 if warnings else 0


@tasks.command()
@click.argument("folder", type=SOURCES)
@click.option("--name", metavar="ORG/NAME", help="What the task is called.")
@json_option
def init(*, folder: Path, name: str | None, as_json: bool) -> None:
    """Write a small task that works into a new FOLDER, to be made one's own."""
    from harness.task.authoring import write_task

    written = write_task(folder, name)
    if as_json:
        print_json({"folder": str(folder), "files": [str(path) for path in written]})
        return
    for path in written:
        put(inline(path))
    say(inline(f"prove it with `stockade tasks check {folder} --run`"))
