"""The batch as JSON, as a table and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.batch.job import BatchJob
from harness.batch.score import Score, TaskScore, batch_code

__all__ = ["markdown", "record", "word"]

_WORDS = {
    0: "passed",
    1: "failed",
    2: "unusable",
    3: "infrastructure",
    4: "passed, denied",
    5: "no answer",
    6: "budget spent",
    7: "model failed",
    8: "verifier broken",
    129: "cancelled",
    130: "cancelled",
    143: "cancelled",
}


def word(code: int) -> str:
    """What an exit code says in a table."""
    return _WORDS.get(code, f"exit {code}")


def record(job: BatchJob, found: Score, *, seconds: float) -> dict[str, Any]:
    """The summary as JSON; `--baseline` reads it again."""
    made: dict[str, Any] = {
        "schema": 1,
        "folder": str(job.folder),
        "exit_code": batch_code(found, min_pass=job.options.min_pass),
        "total": len(job.entries),
        "passed": found.passed,
        "failed": len(found.tasks) - found.passed,
        "skipped": list(found.skipped),
        "pass_at": {str(k): round(share, 6) for k, share in found.pass_at().items()},
        "seconds": round(seconds, 3),
        "tasks": [_task(task) for task in found.tasks],
    }
    if found.regressions is not None:
        made["regressions"] = list(found.regressions)
    if found.late:
        made["late"] = True
    return made


def _task(task: TaskScore) -> dict[str, Any]:
    return {
        "name": task.name,
        "passed": task.passed,
        "exit_code": task.best.exit_code,
        "attempts": [attempt.record() for attempt in task.attempts],
    }


def markdown(summary: Mapping[str, Any]) -> str:
    """For a job's summary page. Names are code, so that nothing in them is markup."""
    passed, total = summary["passed"], summary["total"]
    lines = [f"## stockade: {passed} of {total} tasks passed", ""]
    for k, share in summary["pass_at"].items():
        if len(summary["pass_at"]) > 1:
            lines.append(f"- pass@{k}: {share:.1%}")
    if summary.get("regressions"):
        names = ", ".join(map(_code, summary["regressions"]))
        lines.append(f"- **passed before, not now**: {names}")
    if summary["skipped"]:
        lines.append(f"- not run: {', '.join(map(_code, summary['skipped']))}")
    lines += ["", "| task | outcome | attempts | steps | calls | denied | seconds |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|")
    for task in summary["tasks"]:
        lines.append(_row(task))
    lines += ["", f"Exit code {summary['exit_code']}, {summary['seconds']:.1f} seconds."]
    return "\n".join(lines) + "\n"


def _row(task: Mapping[str, Any]) -> str:
    best = max(task["attempts"], key=lambda a: a["exit_code"] == task["exit_code"])
    spent = best["spent"]
    cells = (
        _code(task["name"]),
        word(task["exit_code"]),
        len(task["attempts"]),
        spent.get("steps", ""),
        spent.get("tool_calls", ""),
        best["denials"] or "",
        f"{best['seconds']:.1f}",
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def _code(text: str) -> str:
    clean = "".join(c if c.isprintable() and c not in "`|" else "?" for c in text)
    return f"`{clean}`"
