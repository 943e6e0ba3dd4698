"""The command line. ``main`` is the one place that turns errors into exit codes."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its code."""
    words = sys.argv[1:]
    if words == ["--help"]:
        from harness.cli.overview import overview

        sys.stdout.write(overview())
        return
    from harness.cli.entry import run_command

    sys.exit(run_command(words))
