"""The command line. ``main`` is the one place that turns errors into exit codes."""

from __future__ import annotations

import sys
from gc import freeze, set_threshold

__all__ = ["main"]

COLLECT_AFTER = 500_000
"""Objects made since the last collection. A start makes some hundred thousand, which all stay: at
Python's 700 the collector looks at them again and again, for a tenth of a short command's time."""


def main() -> None:
    """Run the command line and exit with its code."""
    set_threshold(COLLECT_AFTER, 20, 20)
    words = sys.argv[1:]
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from harness.cli.terminal import open_standard_streams

        open_standard_streams()
    if words == ["--help"]:
        from harness.cli.overview import overview

        sys.stdout.write(overview())
        return
    try:
        from harness.cli.entry import run_command

        code = run_command(words)
    except KeyboardInterrupt:  # while modules are still being imported
        sys.stderr.write("stockade: cancelled\n")
        code = 130
    freeze()  # the interpreter collects before it ends: there is nothing worth looking for
    sys.exit(code)
