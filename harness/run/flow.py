"""One run from start to end: open a box, let the agent work, take the patch, verify.

Whatever ends a run (the agent, a signal, a failure of ours) the log gets its last record and
``result.json`` is written; the boxes are closed and the scratch folder is gone.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.errors import ConfigError, LogError
from harness.event import RunEnd, RunResumed, RunStart
from harness.report import write_report
from harness.run.agent import close_model, work_on
from harness.run.audience import Audience
from harness.run.box import Box, Chooser
from harness.run.folder import RunFolder, new_id
from harness.run.furnish import furnish
from harness.run.health import await_health
from harness.run.job import Job
from harness.run.judgement import judge
from harness.run.keeping import KEPT, keep_files
from harness.run.lock import check_locked, earlier_lock, lock_of, model_facts, task_facts
from harness.run.outgoing import Changes, Workspace
from harness.run.report import Report, State, keep
from harness.run.resumption import Resumption
from harness.run.steps import Scaffold, work_in_steps
from harness.run.stop import Stop
from harness.run.work import Work, begin, describe, sweep_scratch, tell, tell_box
from runners import Session, choose
from runners.workspace import sweep_folders

__all__ = ["run_job"]

GOOD = {0, 4}
"""Exit codes of runs that passed, or completed where there is no verifier."""


async def run_job(
    job: Job,
    *,
    audience: Audience,
    stop: Stop,
    resumption: Resumption | None = None,
    chooser: Chooser = choose,
) -> Report:
    """Run a job to its end; only the operator's mistakes before the start are raised.

    ``chooser`` gives the box; many runs may share what it gives.
    """
    if resumption is None:
        run = new_id()
        earlier = earlier_lock(job.task.name, job.task.folder) if job.options.locked else None
        folder = RunFolder.create(run, job.options.out)
        folder.write_options(job.options)
    else:
        folder, run = resumption.folder, resumption.folder.id
        earlier = resumption.earlier_lock()
    state = State(job.task.name, fail_on_denial=job.options.fail_on_denial)
    state.facts |= {"agent": job.agent, "model": job.model_name, "started": now()}
    began = time.monotonic()
    with begin(run, folder, audience, stop, resumption, recording=job.recording) as work:
        if resumption is None:
            work.events.emit(RunStart(start_facts(job)))
        else:
            work.events.emit(RunResumed(resumption.facts()))
        for note in job.notes:
            tell(work, "note", note)
        async with ending(work, state):
            await drive(job, work, state, earlier, chooser)
        state.facts |= {"ended": now(), "seconds": round(time.monotonic() - began, 3)}
        end_log(work, state)
        state.facts["log"] = {"head": work.log.head, "records": work.log.count}
        record = work.log.clean(state.record(run))
    conclude(folder, record, audience)
    return Report(record, folder, state.patch)


def end_log(work: Work, state: State) -> None:
    """The last record; a log that takes no more leaves a failed run, whatever came before."""
    try:
        work.events.emit(RunEnd(state.status, end_facts(state)))
    except LogError as error:
        state.status, state.error = "infrastructure", str(error)
        work.audience.say(str(error))


def conclude(folder: RunFolder, record: dict[str, Any], audience: Audience) -> None:
    """The result and the page; where the log could not be written, these may fail as well."""
    try:
        folder.write_result(record)
    except OSError as error:
        audience.say(f"no result.json: {error}")
        if record["status"] != "infrastructure":
            raise
    draw(folder, audience)


def draw(folder: RunFolder, audience: Audience) -> None:
    """The page of the run; a run is not worse for the lack of it."""
    try:
        write_report(folder.path)
    except OSError as error:
        audience.say(f"no report.html: {error}")


@asynccontextmanager
async def ending(work: Work, state: State) -> AsyncIterator[None]:
    """Turns what can end a run early into its state: a stop, a mistake, a failure of ours."""
    try:
        yield
    except asyncio.CancelledError:
        if not work.stop.requested:
            raise
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()
        state.status = "aborted"
    except Exception as error:
        if work.resumption is not None and isinstance(error, ConfigError):
            raise  # the run stays open: the operator may take it up otherwise
        state.error = describe(error)
        code = getattr(error, "exit_code", 3)
        state.status = "infrastructure"
        state.code = code if code == 2 else None
        if not isinstance(error, LogError):
            tell(work, "error", state.error)
    if work.stop.requested:
        state.status, state.stopped = "aborted", work.stop.code


async def drive(
    job: Job,
    work: Work,
    state: State,
    earlier: tuple[Path, dict[str, object]] | None,
    chooser: Chooser,
) -> None:
    """The run itself; leaves what it learns in the state as it learns it."""
    with work.stop.interruptible():
        job = await furnish(job, work)
    box = await open_box(job, work, chooser)
    workspace = workspace_of(job, work)
    try:
        with work.stop.interruptible():
            session = await begin_session(job, work, box, workspace, earlier)
            await await_health(session, work, job.task.healthcheck)
        state.facts |= {"runner": box.runner.name, "isolation": session.isolation.label}
        if job.task.steps:
            changes = await work_in_steps(job, work, state, Scaffold(box, workspace, session))
            settle(job, work, state, changes)
            return
        keep(state, await work_on(job, work, session))
        if state.error:
            tell(work, "error", state.error)
        with work.stop.interruptible():
            kept = await keep_files(session, work, job.task, work.folder.path / KEPT)
            changes = await workspace.take(session)
            await box.close()
            state.patch = changes.patch
            state.facts |= changes.write(work.folder.patch)
            if job.task.check is not None and state.status != "model_error":
                state.verification = await judge(job, work, box, changes, kept)
            settle(job, work, state, changes)
    finally:
        await asyncio.shield(box.close())
        await asyncio.shield(workspace.put_aside())
        await close_model(job.model)


def settle(job: Job, work: Work, state: State, changes: Changes) -> None:
    """Hand the changes over; a workspace gets only those of a run that came to a good end."""
    wanted = job.options.box
    if wanted.apply and state.exit_code not in GOOD:
        text = f"--apply: nothing was written, since the run did not pass; see {work.folder.patch}"
        tell(work, "note", text)
        wanted = replace(wanted, apply=False)
    state.facts |= changes.hand_over(wanted)


async def open_box(job: Job, work: Work, chooser: Chooser = choose) -> Box:
    """Choose the box, and sweep what dead harnesses left in it."""
    with work.stop.interruptible():
        for line in [*sweep_scratch(), *sweep_folders()]:
            tell(work, "swept", line)
        box = await Box.choose(
            job.wish,
            job.policy.isolation,
            run=work.run,
            limits=job.limits,
            workdir=job.task.workdir,
            env=job.task.env,
            chooser=chooser,
        )
        for line in await box.sweep():
            tell(work, "swept", line)
    return box


async def begin_session(
    job: Job,
    work: Work,
    box: Box,
    workspace: Workspace,
    earlier: tuple[Path, dict[str, object]] | None,
) -> Session:
    """The agent's session with the workspace in it, and the lock of what the run is made of."""
    session = await workspace.open(box)
    lock = lock_of(
        work.run,
        job.policy,
        box.runner.name,
        session,
        workspace=workspace.digest,
        task=task_facts(job),
        model=model_facts(job.model_name),
    )
    if earlier is not None:
        cure = "--accept-drift goes on all the same" if work.resumption is not None else ""
        check_locked(earlier, lock, cure)
    work.folder.write_lock(lock)
    tell_box(work, session, lock)
    return session


def workspace_of(job: Job, work: Work) -> Workspace:
    """The operator's folder, as the job wants it worked on."""
    return Workspace(
        job.workspace,
        work,
        include=job.options.box.include,
        protect=job.policy.protect,
        in_place=job.options.in_place,
        limit_mib=job.limits.disk_mib,
    )


def start_facts(job: Job) -> dict[str, object]:
    """What the first record says."""
    return {
        "kind": "run",
        "task": job.task.name,
        "agent": job.agent,
        "model": job.model_name,
        "instruction": job.task.instruction,
        "policy": {"name": job.policy.name, "digest": job.policy.digest},
        "budgets": {
            "steps": job.budgets.steps,
            "tool_calls": job.budgets.tool_calls,
            "wall_seconds": job.budgets.wall_seconds,
        },
    }


def end_facts(state: State) -> dict[str, object]:
    """What the last record says."""
    return {
        "verdict": state.verification.verdict,
        "exit_code": state.exit_code,
        "spent": state.spent,
        "error": state.error,
    }


def now() -> str:
    """RFC 3339, UTC."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
