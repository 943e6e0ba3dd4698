"""Parses a command line, runs its command, and turns every error into an exit code."""

from __future__ import annotations

import errno
import os
import sys

import click

from harness.cli.group import LazyGroup
from harness.cli.overview import COMMANDS, overview
from harness.cli.terminal import silence

__all__ = ["root", "run_command"]

BROKEN_PIPE = 141
"""What a shell reports of a program that wrote where nobody reads."""

PLAIN = {
    errno.EACCES: "",
    errno.EDQUOT: "; free some, or name another folder with --out or XDG_STATE_HOME",
    errno.EMFILE: "; raise the limit of open files (ulimit -n)",
    errno.ENOSPC: "; free some, or name another folder with --out or XDG_STATE_HOME",
    errno.EPERM: "",
    errno.EROFS: "",
}
"""What the system refuses an operator, with the cure where one is known: no fault of ours."""

root = LazyGroup("stockade", COMMANDS, overview())
click.version_option(package_name="stockade-harness", message="%(version)s")(root)


def run_command(words: list[str]) -> int:
    """The exit code of one command line; every error ends here."""
    try:
        code = root.main(words, prog_name="stockade", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stockade: cancelled", err=True)
        return 130
    except BrokenPipeError:
        silence(sys.stdout)
        return BROKEN_PIPE
    except Exception as error:
        code = report(error)
        # `exec` passes the program's own code on; ours must not look like one of those.
        return 125 if words[:1] == ["exec"] else code
    return code if isinstance(code, int) else 0


def report(error: Exception) -> int:
    """Say what went wrong, without a traceback unless the operator asks for one."""
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    code = getattr(error, "exit_code", None)
    if isinstance(code, int):
        click.echo(f"stockade: {error}", err=True)
        return code
    if isinstance(error, OSError) and error.errno in PLAIN:
        place = f"{error.filename}: " if error.filename else ""
        click.echo(f"stockade: {place}{error.strerror}{PLAIN[error.errno]}", err=True)
        return 3
    click.echo(f"stockade: internal error: {type(error).__name__}: {error}", err=True)
    if os.environ.get("STOCKADE_DEBUG"):
        import traceback

        traceback.print_exception(error)
    else:
        click.echo("stockade: STOCKADE_DEBUG=1 shows where it happened", err=True)
    return 3
