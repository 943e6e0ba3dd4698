"""Ending the record of a run that nobody goes on with, and the result of one that had ended."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from harness.recall import Recollection, recall
from harness.record import read_events
from harness.report import write_report
from harness.run.folder import RunFolder
from harness.run.recording import Recording
from harness.run.report import SCHEMA
from harness.run.resumption import Resumption, find_open, tallies
from harness.run.work import SCRATCH, goes_on, open_log

__all__ = ["close_run", "restore_result"]

_OWN = frozenset({"seq", "type", "run", "at", "t", "hash", "output"})
"""Keys of the end of a verification that are not part of its result."""


def close_run(folder: RunFolder, recording: Recording) -> dict[str, Any]:
    """End the record of a run that nobody goes on with; returns what `result.json` now holds."""
    resumption = Resumption(folder, find_open(folder))
    log = open_log(folder, folder.id, recording, anew=False)
    try:
        resumption.check(log.count)
        log.append("run/resumed", **resumption.facts())
        log.append("run/end", status="aborted", verdict="none", exit_code=130)
        head, count = log.head, log.count
    finally:
        log.close()
    result = {
        "schema": SCHEMA,
        "run": folder.id,
        "task": str(resumption.run.start.get("task", "")),
        "status": "aborted",
        "verdict": "none",
        "reward": None,
        "spent": {},
        "exit_code": 130,
        "error": "closed after its harness had died",
        "log": {"head": head, "records": count},
    }
    result = log.clean(result)
    conclude(folder, result)
    return result


def restore_result(folder: RunFolder) -> tuple[str, dict[str, Any]] | None:
    """The result of a run that had ended when its harness died before all was written.

    With the name of the first file that was missing; None where the run is no such one. What the
    log does not say (which box it was, what the patch holds) stays out.
    """
    records = list(read_events(folder.events))
    if not records or records[0].get("kind") != "run" or records[-1].get("type") != "run/end":
        return None
    if goes_on(folder):
        return None
    result = folder.read_result()
    if result is None:
        result = result_of(recall(records), records)
        conclude(folder, result)
        return folder.result.name, result
    if folder.report.exists():
        return None
    write_report(folder.path)
    return folder.report.name, result


def conclude(folder: RunFolder, result: dict[str, Any]) -> None:
    """Leave the folder as that of any run that ended."""
    folder.write_result(result)
    shutil.rmtree(folder.path / SCRATCH, ignore_errors=True)
    write_report(folder.path)


def result_of(run: Recollection, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a log that ended says of the result."""
    assert run.end is not None
    verified: Mapping[str, Any] = next(
        (one for one in reversed(records) if one["type"] == "verify/end"), {}
    )
    verification = {key: value for key, value in verified.items() if key not in _OWN}
    denials, unanswered = tallies(run.steps, records)
    return {
        "schema": SCHEMA,
        "run": run.run,
        "task": str(run.start.get("task", "")),
        "status": run.end.get("status"),
        "verdict": run.end.get("verdict"),
        "reward": verification.get("reward"),
        "spent": run.end.get("spent"),
        "exit_code": run.end.get("exit_code"),
        "answer": answer_of(run),
        "error": run.end.get("error"),
        "denials": denials,
        "unanswered": unanswered,
        "verification": verification or None,
        "agent": run.start.get("agent"),
        "model": run.start.get("model"),
        "log": {"head": records[-1]["hash"], "records": len(records)},
    }


def answer_of(run: Recollection) -> str | None:
    """The last words of a model that completed: those of `finish`, or an answer without calls."""
    assert run.end is not None
    steps = [step for step in run.steps if step.reply is not None]
    if run.end.get("status") != "completed" or not steps:
        return None
    ended = [call.content for call in steps[-1].calls if call.name == "finish" and call.ok]
    return ended[0] if ended else str((steps[-1].reply or {}).get("text", ""))
