"""Who watches a run from the command line: a terminal that is redrawn, or plain lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from harness.cli.loop import run_until_stopped
from harness.cli.narrator import Narrator
from harness.cli.options import print_json

if TYPE_CHECKING:
    from harness.cli.live import LiveNarrator
    from harness.run import Audience, Report, Stop

__all__ = ["is_live", "watched"]


def watched(
    work: Callable[[Stop, Audience], Coroutine[None, None, Report]], *, as_json: bool
) -> int:
    """Run it under the operator's signals and eyes; returns the exit code."""
    narrator: Narrator | LiveNarrator
    if is_live():
        from harness.cli import live

        narrator = live.LiveNarrator()
    else:
        narrator = Narrator()
    with narrator:
        report = run_until_stopped(lambda stop: work(stop, narrator))
    if as_json:
        print_json(report.record)
    narrator.conclude(report)
    return report.exit_code


def is_live() -> bool:
    """Whether standard error is a terminal that can be redrawn."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
