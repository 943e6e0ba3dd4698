"""Parses a command line, runs its command, and turns every error into an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys

import click

from harness.cli.group import LazyGroup
from harness.cli.overview import COMMANDS, overview
from harness.cli.terminal import remark, say, silence

__all__ = ["root", "run_command"]

BROKEN_PIPE = 141
"""What a shell reports of a program that wrote where nobody reads."""

ROOM = "; free some, or name another folder with --out or XDG_STATE_HOME"

PLAIN = {
    errno.EACCES: "",
    errno.EDQUOT: ROOM,
    errno.EIO: "",
    errno.EISDIR: "; name a file",
    errno.ELOOP: "",
    errno.EMFILE: "; raise the limit of open files (ulimit -n)",
    errno.ENAMETOOLONG: "",
    errno.ENFILE: "",
    errno.ENOENT: "",
    errno.ENOMEM: "",
    errno.ENOSPC: ROOM,
    errno.ENOTDIR: "; name a folder",
    errno.EPERM: "",
    errno.EROFS: "; name another folder with --out or XDG_STATE_HOME",
}
"""What the system refuses an operator, with the cure where one is known: no fault of ours."""

root = LazyGroup("stockade", COMMANDS, overview())
click.version_option(package_name="stockade-harness", message="%(version)s")(root)


def run_command(words: list[str]) -> int:
    """The exit code of one command line; every error ends here."""
    try:
        code = root.main(words, prog_name="stockade", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        remark("cancelled")
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
        said = io.StringIO()
        error.show(said)
        say(said.getvalue().rstrip("\n"))
        return error.exit_code
    code = getattr(error, "exit_code", None)
    if isinstance(code, int):
        remark(error)
        return code
    if isinstance(error, OSError) and error.errno in PLAIN:
        place = f"{error.filename}: " if error.filename else ""
        remark(f"{place}{error.strerror}{PLAIN[error.errno]}")
        return 3
    if isinstance(error, RuntimeError) and "home directory" in str(error):
        remark("there is no home folder to look in: set HOME")
        return 2
    if isinstance(error, RecursionError):
        remark("something that was read is nested too deeply")
        return 2
    remark(f"internal error: {type(error).__name__}: {error}")
    if os.environ.get("STOCKADE_DEBUG"):
        import traceback

        say("".join(traceback.format_exception(error)))
    else:
        remark("STOCKADE_DEBUG=1 shows where it happened")
    return 3
