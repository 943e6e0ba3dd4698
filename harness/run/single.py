"""One command in a box under a policy: what ``stockade exec`` does (decision 10)."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.bus import current_call
from harness.config import load_config
from harness.errors import ConfigError
from harness.event import RunEnd, RunStart, ToolCalled, ToolFinished
from harness.printed import tail
from harness.run.accepted import accept
from harness.run.audience import Audience
from harness.run.box import Box
from harness.run.folder import RunFolder, new_id
from harness.run.lock import lock_of, own_version
from harness.run.options import SingleOptions
from harness.run.outgoing import Workspace
from harness.run.recording import Recording, recording_of
from harness.run.stop import Stop
from harness.run.wish import BoxWish, make_wish, workspace_folder
from harness.run.work import Work, begin, describe, sweep_scratch, tell, tell_box
from policies import Command, Limits, Policy, Verdict
from policies import load as load_policy
from runners import OnOutput, Session
from runners.workspace import sweep_folders

if TYPE_CHECKING:
    from harness.action import Performed
    from runners import Capture, Outcome

BROKEN_PIPE = 141
AHEAD_SECONDS = 0.08

__all__ = ["Single", "SingleReport", "make_single", "run_single"]


@dataclass(frozen=True, slots=True)
class Single:
    """One command, with all that was looked up for it."""

    options: SingleOptions
    policy: Policy
    limits: Limits
    wish: BoxWish
    recording: Recording


@dataclass(frozen=True, slots=True)
class SingleReport:
    """What came of it: the record of ``result.json``, and the exit code."""

    record: dict[str, Any]
    folder: RunFolder
    exit_code: int
    performed: Performed | None
    error: str | None


def make_single(options: SingleOptions, environ: Mapping[str, str] = os.environ) -> Single:
    """Look up and check everything; ConfigError says what does not fit."""
    if bool(options.argv) == (options.line is not None):
        raise ConfigError("name a command after --, or say --line; exactly one of the two")
    if options.box.apply and options.box.workspace is None:
        raise ConfigError("--apply needs --workspace")
    config = load_config(environ)
    workspace_folder(options.box.workspace)
    policy = load_policy(options.box.policy or config.policy or "readonly")
    seconds = min(policy.limits.wall_seconds, options.box.timeout or policy.limits.wall_seconds)
    limits = replace(policy.limits, wall_seconds=seconds)
    wish = make_wish(options.box, config)
    recording = recording_of(config, environ, options.key)
    return Single(options, accept(policy, wish.accept), limits, wish, recording)


async def run_single(
    single: Single, *, audience: Audience, stop: Stop, on_output: OnOutput | None = None
) -> SingleReport:
    """Judge the command and run it; the run folder is complete whatever happens."""
    run = new_id()
    folder = RunFolder.create(run)
    performed, error, stopped = None, None, None
    facts: dict[str, Any] = {}
    with begin(run, folder, audience, stop, recording=single.recording) as work:
        work.events.emit(RunStart(start_facts(single)))
        try:
            performed = await drive(single, work, facts, on_output)
        except asyncio.CancelledError:
            if not stop.requested:
                raise
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            stopped = stop.code
        except BrokenPipeError:  # whoever read the output has gone: so would the program
            stopped = BROKEN_PIPE
        except Exception as raised:
            error = describe(raised)
            tell(work, "error", error)
        from harness.run.single_code import single_code

        code = stopped or (125 if performed is None else single_code(performed))
        status = "aborted" if stopped else "completed" if performed else "infrastructure"
        work.events.emit(RunEnd(status, {"exit_code": code, "error": error}))
        facts["log"] = {"head": work.log.head, "records": work.log.count}
        clean = work.log.clean
    record = {
        "schema": 1,
        "run": run,
        "task": "exec",
        "status": status,
        "verdict": "none",
        "reward": None,
        "spent": {"tool_calls": int(bool(performed and performed.outcomes))},
        "exit_code": code,
        "error": error,
        **(performed_record(performed) if performed else {}),
        **facts,
    }
    folder.write_result(clean(record))
    return SingleReport(record, folder, code, performed, error)


async def drive(
    single: Single, work: Work, facts: dict[str, Any], on_output: OnOutput | None
) -> Performed:
    """Open the box, copy in, perform, copy out."""
    options = single.options
    with work.stop.interruptible():
        for line in [*sweep_scratch(), *sweep_folders()]:
            tell(work, "swept", line)
        workspace = Workspace(
            options.box.workspace,
            work,
            include=options.box.include,
            protect=single.policy.protect,
            limit_mib=single.limits.disk_mib,
        )
        box, _ = await asyncio.gather(
            Box.choose(single.wish, single.policy.isolation, run=work.run, limits=single.limits),
            workspace.look(),
        )
        box.spec = replace(box.spec, brief=True)  # the harness leaves with it
        opening = asyncio.create_task(workspace.open(box))
        try:
            # First what starts the box; while that goes on by itself, all that can wait so long.
            await asyncio.wait([opening], timeout=AHEAD_SECONDS)
            await asyncio.to_thread(get_ready)
            for line in await box.sweep():
                tell(work, "swept", line)
            session = await opening
            digest = workspace.digest
            lock = lock_of(work.run, single.policy, box.runner.name, session, workspace=digest)
            work.folder.write_lock(lock)
            tell_box(work, session, lock)
            facts |= {"runner": box.runner.name, "isolation": session.isolation.label}
            performed = await perform_recorded(single, work, session, on_output)
            if options.box.patch is not None or options.box.apply:
                changes = await workspace.take(session)
                facts |= changes.write(work.folder.patch) | changes.hand_over(options.box)
            return performed
        finally:
            if opening.cancel():
                await asyncio.wait([opening])
            await asyncio.shield(box.close())


def get_ready() -> None:
    """Import and look up what the command will need."""
    from harness import action  # noqa: F401

    own_version()


async def perform_recorded(
    single: Single, work: Work, session: Session, on_output: OnOutput | None
) -> Performed:
    """Perform the command; all records of it belong to one call."""
    from harness.action import perform

    before = current_call.set("exec")
    try:
        arguments = in_words(single.options)
        work.events.emit(ToolCalled("exec", arguments, origin="operator"))
        performed = await perform(
            session,
            single.policy,
            asked(single.options),
            limits=single.limits,
            on_output=on_output,
            events=work.events,
        )
        work.events.emit(finished(performed))
        return performed
    finally:
        current_call.reset(before)


def asked(options: SingleOptions) -> Command | str:
    """The command, or the line."""
    if options.line is not None:
        return options.line
    return Command(options.argv, stdin=options.stdin)


def in_words(options: SingleOptions) -> str:
    """What was asked for, as the log has the arguments of a call: JSON."""
    if options.line is not None:
        return json.dumps({"line": options.line})
    return json.dumps({"argv": list(options.argv)})


def finished(performed: Performed) -> ToolFinished:
    """The result, for the log: the end of what was printed."""
    ok = bool(performed.outcomes) and all(outcome.ok for outcome in performed.outcomes)
    content = "".join(tail(outcome) for outcome in performed.outcomes)
    seconds = sum(outcome.wall_seconds for outcome in performed.outcomes)
    text = content or performed.verdict.message
    return ToolFinished("exec", ok, text, seconds, outcome=performed.facts())


def start_facts(single: Single) -> dict[str, Any]:
    """What the first record says."""
    options = single.options
    return {
        "kind": "exec",
        "task": "exec",
        "argv": list(options.argv) or None,
        "line": options.line,
        "policy": {"name": single.policy.name, "digest": single.policy.digest},
        "accept_isolation": None if single.wish.accept is None else single.wish.accept.label,
    }


def performed_record(performed: Performed) -> dict[str, Any]:
    """The verdict and the outcomes, for machines."""
    return {
        "decision": performed.verdict.decision.label,
        "verdict_on": verdict_record(performed.verdict),
        "outcomes": [outcome_record(outcome) for outcome in performed.outcomes],
    }


def verdict_record(verdict: Verdict) -> dict[str, Any]:
    """Which rule and which word."""
    return {
        "decision": verdict.decision.label,
        "reason": verdict.reason,
        "rule": verdict.rule,
        "line": verdict.line,
        "word": verdict.word,
        "message": verdict.message,
    }


def outcome_record(outcome: Outcome) -> dict[str, Any]:
    """The facts of one call, with the kept output as text."""
    return {
        "ending": str(outcome.ending),
        "code": outcome.code,
        "signal": outcome.signal,
        "limit": outcome.limit,
        "limits_hit": [
            {"limit": hit.limit, "evidence": hit.evidence} for hit in outcome.limits_hit
        ],
        **capture_record("stdout", outcome.stdout),
        **capture_record("stderr", outcome.stderr),
        "wall_seconds": outcome.wall_seconds,
        "cpu_seconds": outcome.cpu_seconds,
    }


def capture_record(name: str, capture: Capture) -> dict[str, Any]:
    """What is kept of one stream: as text, and what bytes of it these are."""
    return {
        name: capture.text(),
        f"{name}_bytes": capture.total,
        f"{name}_kept": [list(part) for part in capture.kept],
        f"{name}_sha256": capture.sha256,
    }
