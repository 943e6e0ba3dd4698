"""Removing the folders of runs that are over."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from harness.record import parts
from harness.run.folder import RunFolder, list_runs
from harness.run.work import goes_on

__all__ = ["prune_runs"]

_DAY = 86400.0


def prune_runs(
    *, keep: int = 0, older_than_days: float = 0.0, dry_run: bool = False, root: Path | None = None
) -> list[Path]:
    """Remove run folders of the state folder and return their paths, oldest first.

    A run that goes on, or cannot be told not to, stays, whatever its age. Only what looks like a
    run folder (it holds a log) is ever looked at.
    """
    runs = [run for run in list_runs(root) if not goes_on(run)][keep:]
    limit = time.time() - older_than_days * _DAY
    gone = [run.path for run in reversed(runs) if _last_written(run) <= limit]
    if not dry_run:
        for path in gone:
            shutil.rmtree(path)
    return gone


def _last_written(run: RunFolder) -> float:
    return parts(run.events)[-1].stat().st_mtime
