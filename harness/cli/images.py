"""``stockade images``: what runs inside the boxes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from harness.cli.options import json_option, print_json
from harness.cli.terminal import inline, put, say

__all__ = ["images"]

FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.group()
def images() -> None:
    """Build, list and verify the images of boxes."""


@images.command()
@click.argument("name", default="python")
@click.option("--requirements", type=FILE, help="Python packages to install into it.")
@click.option("--dockerfile", type=FILE, help="Build this file under that name instead.")
@json_option
def build(name: str, requirements: Path | None, dockerfile: Path | None, *, as_json: bool) -> None:
    """Build image NAME, as a Docker image and as a folder for the other boxes; cached."""
    import sandbox_images

    for path in (requirements, dockerfile):
        if path is not None and not path.is_file():
            raise click.UsageError(f"{path}: cannot be read: it is no regular file")
    image = sandbox_images.build(
        name, requirements=requirements, dockerfile=dockerfile, progress=say
    )
    if as_json:
        print_json(record(image))
        return
    put(f"{image.name}  {image.docker_id or image.tree}")


@images.command("list")
@json_option
def list_command(*, as_json: bool) -> None:
    """List the images that are built."""
    import sandbox_images

    rows = [record(image) for image in sandbox_images.list_images()]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        put(inline(f"{row['name']}  {row['docker_id'] or '-'}  {row['tree'] or '-'}"))
    if not rows:
        say("no image is built yet; `stockade images build python` builds one")


@images.command()
@click.argument("name", default="python")
@json_option
def verify(name: str, *, as_json: bool) -> int:
    """Check that an image is what was built: exit 0 fine, 1 not."""
    import sandbox_images

    found = sandbox_images.verify(name)
    if as_json:
        print_json({"name": found.name, "ok": found.ok, "problems": list(found.problems)})
    else:
        for problem in found.problems:
            put(inline(f"{name}: {problem}"))
        if found.ok:
            put(inline(f"{name}: fine"))
    return 0 if found.ok else 1


def record(image: Any) -> dict[str, Any]:  # noqa: ANN401 - sandbox_images.Image
    """An image for machines."""
    return {
        key: str(value) if isinstance(value, Path) else value
        for key, value in asdict(image).items()
    }
