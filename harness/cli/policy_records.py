"""``stockade policy diff|coverage|suggest|import``: policies from and against other sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import json_option, print_json
from harness.cli.terminal import document, inline, put, say

if TYPE_CHECKING:
    from policies import Recorded

__all__ = ["coverage", "diff", "import_command", "suggest"]

FINDINGS = 1
MOST_SHOWN = 50


def records_of(sources: Iterable[str]) -> Iterator[Recorded]:
    """The commands of logs, of files of commands, or of runs by id."""
    from harness.record import parts
    from policies import read_records

    for source in sources:
        path = Path(source)
        if not path.exists():
            from harness.run import find_run

            path = find_run(source).path
        if path.is_dir():
            path /= "events.jsonl"
        for part in parts(path) or [path]:
            if part.exists() and not part.is_file():
                raise click.UsageError(f"{part}: cannot be read: it is no regular file")
            with part.open(encoding="utf-8", errors="replace") as lines:
                yield from read_records(lines)


@click.command()
@click.argument("old")
@click.argument("new")
@click.option("--corpus", multiple=True, metavar="FILE", help="Recorded commands to compare.")
@click.option("--root", default="/workspace", show_default=True, metavar="DIR")
@click.option("--fail-on", type=click.Choice(["any", "widen"]), default="any", show_default=True)
@json_option
def diff(
    *, old: str, new: str, corpus: tuple[str, ...], root: str, fail_on: str, as_json: bool
) -> int:
    """Show commands that two policies decide differently.

    It is sound for what it shows; it does not show that nothing else differs.
    """
    from policies import compare_policies, load

    found = compare_policies(load(old), load(new), records_of(corpus), root=root)
    if as_json:
        rows = [{name: getattr(one, name) for name in one.__slots__} for one in found]
        print_json({"differences": rows, "complete": False})
    else:
        for one in found[:MOST_SHOWN]:
            mark = "" if one.recorded else " (made up)"
            words = inline(" ".join(one.argv))
            put(f"{one.change}: {words}: {one.before} -> {one.after}{mark}")
        if len(found) > MOST_SHOWN:
            put(f"... and {len(found) - MOST_SHOWN} more; --json shows all")
        say(f"{len(found)} differences seen; this does not show that there are no others")
    counted = [one for one in found if fail_on == "any" or one.widens]
    return FINDINGS if counted else 0


@click.command()
@click.argument("logs", nargs=-1, required=True)
@click.option("--policy", "source", required=True, metavar="NAME|FILE")
@click.option("--root", default="/workspace", show_default=True, metavar="DIR")
@click.option("--rejudge", is_flag=True, help="Judge anew what another policy decided.")
@json_option
def coverage(*, logs: tuple[str, ...], source: str, root: str, rejudge: bool, as_json: bool) -> int:
    """Count which lines decided recorded commands; exit 1 when some never did."""
    from policies import compile_layers, cover

    found = cover(compile_layers(source, trust=False), records_of(logs), root=root)
    if found.strangers and not rejudge:
        raise click.UsageError(
            f"the logs were decided by another policy ({found.strangers[0]}): use --rejudge"
        )
    if as_json:
        print_json(
            {
                "commands": found.commands,
                "lines": [{n: getattr(one, n) for n in one.__slots__} for one in found.lines],
                "denied": [{n: getattr(one, n) for n in one.__slots__} for one in found.denied],
            }
        )
    else:
        put(f"{found.commands} commands")
        for line in sorted(found.lines, key=lambda one: -one.count):
            put(inline(f"{line.count:6} {line.file}:{line.line} {line.text[:100]}"))
        for group in found.denied:
            what = " ".join(filter(None, (group.program, group.subcommand)))
            put(inline(f"denied {group.count:6} {what}: {group.reason}"))
            if group.edit:
                put(inline(f"         edit: {group.edit[:120]}"))
    return FINDINGS if found.unused else 0


@click.command()
@click.argument("logs", nargs=-1, required=True)
@json_option
def suggest(*, logs: tuple[str, ...], as_json: bool) -> int:
    """Print a first policy that covers recorded commands, hazards commented out."""
    from policies import suggest as suggested

    text = suggested(records_of(logs))
    if as_json:
        print_json({"policy": text})
    else:
        document(text)
    return 0


@click.command(name="import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--from", "source", type=click.Choice(["codex", "claude", "gemini"]), required=True,
              help="Whose permissions they are.")  # fmt: skip
@json_option
def import_command(*, file: Path, source: str, as_json: bool) -> int:
    """Make a policy from another tool's permissions; every loss is reported.

    Exit 1 when something was refused; nothing is ever widened.
    """
    from policies import import_policy, read_regular

    try:
        text = read_regular(file).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or error
        raise click.UsageError(f"{file}: cannot be read: {said}") from None
    found = import_policy(text, source)  # type: ignore[arg-type]
    if as_json:
        losses = [{name: getattr(one, name) for name in one.__slots__} for one in found.losses]
        print_json({"policy": found.text, "losses": losses})
    else:
        document(found.text)
        for loss in found.losses:
            say(inline(f"{file}: {loss}"))
    return FINDINGS if any(loss.severity == "error" for loss in found.losses) else 0
