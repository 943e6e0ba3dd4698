"""Options that several commands share."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from harness.run.options import BoxOptions

__all__ = [
    "FILE",
    "NEW_FILE",
    "SECONDS",
    "FiniteFloat",
    "box_options",
    "json_option",
    "key_option",
    "patch_options",
    "print_json",
    "take_box",
    "task_env_option",
]

F = TypeVar("F", bound=Callable[..., Any])

RUNNERS = click.Choice(["auto", "process", "bubblewrap", "docker"])
LEVELS = click.Choice(["process", "namespace", "container", "kernel"])
FILE = click.Path(path_type=Path, dir_okay=False)


class FiniteFloat(click.FloatRange):
    """A number in a range: no infinity, and not "nan", which no bound of a range keeps out."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's own signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """The number, if it is one."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


SECONDS = FiniteFloat(0, min_open=True)


class NewFile(click.Path):
    """A file to write at the end of a run: that it can be written is checked before the start."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False, writable=True)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """The path, if there is a folder to write it in."""
        super().convert(value, param, ctx)
        path = Path(value)
        if not path.parent.is_dir():
            self.fail(f"there is no folder {path.parent}; make it first", param, ctx)
        try:
            try_to_write(path)
        except OSError as error:
            self.fail(f"{path} cannot be written: {error.strerror}", param, ctx)
        return path


NEW_FILE = NewFile()


def try_to_write(path: Path) -> None:
    """Open a file as it will be opened at the end; nothing of it changes, none is left behind."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.stat().st_mode):
            return  # a pipe or a terminal: looking would be noticed at its other end
    flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
    try:
        os.close(os.open(path, flags))
    except FileNotFoundError:
        # Where a link leads to nothing yet, what is made is what it leads to.
        real = path.resolve()
        os.close(os.open(real, flags | os.O_CREAT | os.O_EXCL, 0o666))
        real.unlink()


def json_option(function: F) -> F:
    """``--json``: one document on standard output, everything else on standard error."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(
        function
    )


def box_options(function: F) -> F:
    """Which box, which image, which policy, which workspace."""
    for option in reversed(
        (
            click.option("--policy", metavar="NAME|FILE", help="A profile or a policy file."),
            click.option(
                "--workspace", type=click.Path(path_type=Path), help="The folder to work on."
            ),
            click.option("--runner", type=RUNNERS, help="The box; auto takes the strongest."),
            click.option("--runtime", metavar="NAME", help="An OCI runtime of the engine."),
            click.option("--image", metavar="NAME", help="The image that runs in the box."),
            click.option("--timeout", type=SECONDS, metavar="S", help="Seconds."),
            click.option(
                "--accept-isolation", type=LEVELS, help="Put up with a weaker box than asked for."
            ),
            click.option(
                "--include",
                multiple=True,
                metavar="PATTERN",
                help="Copy in what would be left out; may be repeated.",
            ),
        )
    ):
        function = option(function)
    return function


def task_env_option(function: F) -> F:
    """``--task-env``: what of the operator's environment a task may read."""
    return click.option(
        "--task-env",
        multiple=True,
        metavar="NAME",
        help="A variable that tasks may read; may be repeated.",
    )(function)


def key_option(function: F) -> F:
    """Seal the log."""
    return click.option(
        "--key", type=FILE, metavar="FILE", help="Seal the log with the key in FILE."
    )(function)


def patch_options(function: F) -> F:
    """What becomes of the changes."""
    for option in reversed(
        (
            click.option(
                "--patch", type=NEW_FILE, metavar="FILE", help="Write the changes there too."
            ),
            click.option("--apply", is_flag=True, help="Apply the changes to the workspace."),
        )
    ):
        function = option(function)
    return function


def print_json(value: Any) -> None:  # noqa: ANN401 - whatever JSON can carry
    """The one document of ``--json``."""
    import json

    from harness.cli.terminal import put

    put(written_out(json.dumps(value, indent=2, ensure_ascii=False)))


def written_out(text: str) -> str:
    """JSON with what could steer a terminal in JSON's own escapes: the same document."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else json_escape(c) for c in text)


def json_escape(character: str) -> str:
    """The escapes of a character; it stands within a text, for nothing else of JSON needs one."""
    import json

    return json.dumps(character)[1:-1]


BOX_KEYS = (
    "policy", "workspace", "runner", "runtime", "image", "timeout", "include", "patch", "apply",
)  # fmt: skip


def take_box(given: dict[str, Any]) -> BoxOptions:
    """The options that say where to run, taken out of all that were given."""
    from harness.run.options import BoxOptions
    from policies import Isolation

    level = given.pop("accept_isolation")
    return BoxOptions(
        accept_isolation=Isolation.parse(level) if level else None,
        **{key: given.pop(key) for key in BOX_KEYS},
    )
