"""One run, or one command, from what the operator asked for to a result on disk.

Imported when used: a command that runs one program should not pay for reading tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.run.audience import Audience, Silence
    from harness.run.code import Status, exit_code
    from harness.run.flow import run_job
    from harness.run.folder import RunFolder, find_run, list_runs, new_id
    from harness.run.job import Job, make_job
    from harness.run.options import BoxOptions, RunOptions, SingleOptions
    from harness.run.report import Report
    from harness.run.single import Single, SingleReport, make_single, run_single
    from harness.run.stop import Stop

__all__ = [
    "Audience",
    "BoxOptions",
    "Job",
    "Report",
    "RunFolder",
    "RunOptions",
    "Silence",
    "Single",
    "SingleOptions",
    "SingleReport",
    "Status",
    "Stop",
    "exit_code",
    "find_run",
    "list_runs",
    "make_job",
    "make_single",
    "new_id",
    "run_job",
    "run_single",
]

_MODULES = {
    "Audience": "audience",
    "BoxOptions": "options",
    "Job": "job",
    "Report": "report",
    "RunFolder": "folder",
    "RunOptions": "options",
    "Silence": "audience",
    "Single": "single",
    "SingleOptions": "options",
    "SingleReport": "single",
    "Status": "code",
    "Stop": "stop",
    "exit_code": "code",
    "find_run": "folder",
    "list_runs": "folder",
    "make_job": "job",
    "make_single": "single",
    "new_id": "folder",
    "run_job": "flow",
    "run_single": "single",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any of the names above
    if name not in _MODULES:
        raise AttributeError(f"module 'harness.run' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"harness.run.{_MODULES[name]}"), name)
