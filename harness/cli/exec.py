"""``stockade exec``: one command in a box under a policy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from harness.cli.options import (
    box_options,
    json_option,
    key_option,
    patch_options,
    print_json,
    take_box,
)
from harness.cli.terminal import Escaper, raw_or_escaped, remark, silence
from harness.event import Event, Notice

if TYPE_CHECKING:
    from harness.run import SingleReport

__all__ = ["exec_command"]

MOST_STDIN_BYTES = 64 << 20
TOLD = {"left-out", "refused", "incomplete", "weaker"}
"""Kinds of notices that a person needs beside the output of a single command."""


@click.command("exec", context_settings={"allow_interspersed_args": False})
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
@click.option("--line", metavar="'A | B'", help="A command line instead: pipes, &&, ||, ;")
@box_options
@patch_options
@click.option("-i", "interactive", is_flag=True, help="Give it our standard input.")
@key_option
@json_option
def exec_command(
    *,
    argv: tuple[str, ...],
    line: str | None,
    interactive: bool,
    key: Path | None,
    as_json: bool,
    **given: Any,  # noqa: ANN401 - click's own values
) -> int:
    """Run one command in a box: stockade exec [OPTIONS] -- ARGV.

    Changes to the workspace are discarded unless --patch or --apply says otherwise.

    \b
    Exit codes: the program's own · 124 timed out · 125 our failure ·
    126 denied · 127 no such program · 137 killed by a limit.
    """  # noqa: D301 - click reads this backspace as "do not wrap"
    from harness.cli.loop import run_until_stopped
    from harness.run import SingleOptions, make_single, run_single

    stdin = sys.stdin.buffer.read(MOST_STDIN_BYTES) if interactive else None
    single = make_single(SingleOptions(take_box(given), argv, line, stdin, key))
    audience = Quiet()
    on_output = None if as_json else audience.output
    report = run_until_stopped(
        lambda stop: run_single(single, audience=audience, stop=stop, on_output=on_output)
    )
    if as_json:
        print_json(report.record)
    conclude(report)
    return report.exit_code


class Quiet:
    """Passes the program's output on and says nothing but what went wrong."""

    def __init__(self) -> None:
        self.escapers = {"stdout": Escaper(), "stderr": Escaper()}

    def hear(self, event: Event) -> None:
        """Beside the program's own output, only what travelled neither in nor out."""
        payload = event.payload
        if isinstance(payload, Notice) and payload.kind in TOLD:
            self.say(payload.text)

    def say(self, text: str) -> None:
        """A remark."""
        remark(text)

    async def output(self, name: Literal["stdout", "stderr"], data: bytes) -> None:
        """Output, as it comes."""
        stream = sys.stdout if name == "stdout" else sys.stderr
        try:
            raw_or_escaped(stream, data, self.escapers[name])
        except BrokenPipeError:
            silence(stream)
            raise


def conclude(report: SingleReport) -> None:
    """What a person should know when it is not the program's own doing."""
    if report.error is not None:
        remark(report.error)
    performed = report.performed
    if performed is None:
        return
    verdict = performed.verdict
    if verdict.decision.label != "allow":
        remark(f"{verdict.decision.label}: {verdict.message} [{verdict.reason}]")
        return
    outcome = performed.outcome
    if outcome is None:
        return
    if outcome.start_error:
        remark(outcome.start_error)
    elif outcome.ending not in {"exited", "signalled"}:
        limit = f" ({outcome.limit})" if outcome.limit else ""
        how = str(outcome.ending).replace("_", " ")
        remark(f"{how}{limit} after {outcome.wall_seconds:.1f} s")
    for stream, capture in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if capture.missing:
            remark(f"{capture.missing} of {capture.total} bytes of {stream} are not recorded")
