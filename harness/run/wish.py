"""The box that is wanted, by flags, task and configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.config import Config
from harness.errors import ConfigError
from harness.run.options import BoxOptions
from policies import Isolation

__all__ = ["BoxWish", "make_wish", "workspace_folder"]

IMAGE = "python"


@dataclass(frozen=True, slots=True)
class BoxWish:
    """The box that is wanted, with every default filled in.

    Attributes:
        image: by name; what ``dockerfile`` describes stands before it.
    """

    runner: str
    accept: Isolation | None
    image: str
    runtime: str | None
    dockerfile: Path | None = None


def make_wish(
    box: BoxOptions,
    config: Config,
    task_image: str | None = None,
    dockerfile: Path | None = None,
) -> BoxWish:
    """The box with every default filled in."""
    accept = box.accept_isolation
    if accept is None and config.accept_isolation is not None:
        try:
            accept = Isolation.parse(config.accept_isolation)
        except ValueError as error:
            raise ConfigError(f"accept_isolation: {error}") from None
    return BoxWish(
        runner=box.runner or config.runner or "auto",
        accept=accept,
        image=box.image or task_image or config.image or IMAGE,
        runtime=box.runtime or config.runtime,
        dockerfile=None if box.image or task_image else dockerfile,
    )


def workspace_folder(folder: Path | None) -> Path | None:
    """The folder, if it is one."""
    if folder is not None and not folder.is_dir():
        state = "is not a folder" if folder.exists() else "does not exist"
        raise ConfigError(f"the workspace {folder} {state}")
    return folder
