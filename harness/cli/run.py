"""``stockade run``: an agent, a task, a box, a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.options import (
    box_options,
    json_option,
    key_option,
    patch_options,
    task_env_option,
)

__all__ = ["run"]


def utf8(_: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """What a model reads: bytes that are no text have no place in its conversation."""
    try:
        (value or "").encode("utf-8")
    except UnicodeEncodeError:
        raise click.BadParameter("it is not UTF-8 text", param=param) from None
    return value


POSITIVE = click.IntRange(min=1)
FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.argument("task", required=False, type=FOLDER)
@click.option("--instruction", callback=utf8, metavar="TEXT",
              help="What to do, where there is no task folder.")  # fmt: skip
@box_options
@click.option("--agent", type=click.Choice(["model", "oracle", "nop"]), default="model")
@click.option("--model", metavar="SPEC", help="scripted:FILE, openai:NAME, anthropic:NAME.")
@click.option("--max-steps", type=POSITIVE, metavar="N", help="Lower the budget of steps.")
@click.option("--max-tool-calls", type=POSITIVE, metavar="N", help="Lower that of tool calls.")
@click.option("--fail-on-denial", is_flag=True, help="Exit 4 if anything was denied.")
@click.option("--in-place", is_flag=True, help="Work on the workspace itself.")
@patch_options
@click.option("--out", type=FOLDER, metavar="DIR", help="The run folder; empty or absent.")
@click.option("--locked", is_flag=True, help="Refuse to run what differs from an earlier run.")
@click.option(
    "--project-policy",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A file that can only restrict the policy.",
)
@click.option("--strict-network", is_flag=True, help="Refuse a task silent on the network.")
@task_env_option
@key_option
@json_option
def run(*, as_json: bool, **given: Any) -> int:  # noqa: ANN401 - click's own values
    """Run an agent on TASK (a folder in the Harbor layout) or on --instruction.

    \b
    Exit codes: 0 passed · 1 not passed · 2 usage, configuration or policy ·
    3 infrastructure · 4 denied (with --fail-on-denial) · 5 an approval that
    nobody could give · 6 budget spent · 7 model · 8 verifier broken ·
    130/143 cancelled.
    """  # noqa: D301 - click reads this backspace as "do not wrap"
    from harness.cli.audience import watched
    from harness.run import make_job, run_job

    job = make_job(run_options(given))
    return watched(
        lambda stop, audience: run_job(job, audience=audience, stop=stop), as_json=as_json
    )


def run_options(given: dict[str, Any]) -> Any:  # noqa: ANN401
    """The options as the run takes them."""
    from harness.cli.options import take_box
    from harness.run.options import RunOptions

    box = take_box(given)
    return RunOptions(box=box, **given)
