"""The command line. ``main`` is the one place that turns errors into exit codes."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its code."""
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
    sys.exit(code)
