"""Which image a session runs, and who it runs as. Nothing is ever pulled."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runners.docker.engine import Engine
from runners.errors import UnavailableError

if TYPE_CHECKING:
    from sandbox_images import Image

__all__ = ["DEFAULT_USER", "BoxImage", "find_image", "user_of"]

DEFAULT_USER = (1000, 1000)
PYTHONS = ("/usr/bin/python3", "/usr/local/bin/python3")
"""Where images have an interpreter: distributions' and the official ``python`` images'."""


@dataclass(frozen=True, slots=True)
class BoxImage:
    """A local image.

    Attributes:
        id: by which the engine knows it for certain.
        pythons: where an interpreter may be, best first.
        user: uid and gid of its programs.
        env: its variables (``NAME=value``), which a box does not get.
        volumes: folders that it declares as volumes.
        lock: for the run's record.
    """

    id: str
    pythons: Sequence[str]
    user: tuple[int, int]
    env: Sequence[str]
    volumes: Sequence[str]
    lock: Mapping[str, str]


async def find_image(engine: Engine, name: str) -> BoxImage:
    """An image of ours by name, else a local Docker image by name, id or digest."""
    built = await asyncio.to_thread(built_image, name)
    if built is not None and built.docker_id is not None:
        found = await engine.image(built.docker_id)
        if found is not None:
            python = (built.python,) if built.python else ()
            return box_image(found, python, (built.uid, built.gid), built.lock)
    found = await engine.image(name)
    if found is None and (kept := tag_of(name)) is not None:
        found = await engine.image(kept)  # built by a harness of another machine or container
        labels = settings_of(found or {}).get("Labels") or {}
        found = found if labels.get("stockade.image") == name else None
    if found is None:
        raise UnavailableError(missing_message(engine, name, known=built is not None))
    lock = {"name": name, "id": str(found["Id"])}
    digests = found.get("RepoDigests") or []
    if digests:
        lock["digest"] = str(digests[0]).partition("@")[2]
    return box_image(found, PYTHONS, user_of(settings_of(found).get("User")), lock)


def built_image(name: str) -> Image | None:
    """Our own image of this name, None when there is none."""
    import sandbox_images

    try:
        return sandbox_images.find(name, engine=False)
    except sandbox_images.ImageNameError:
        return None  # not a name of ours: a Docker image such as `debian:12`


def tag_of(name: str) -> str | None:
    """Under which an engine would hold our own image of this name."""
    import sandbox_images

    try:
        return sandbox_images.tag(name)
    except sandbox_images.ImageNameError:
        return None


def box_image(
    found: Mapping[str, Any],
    pythons: Sequence[str],
    user: tuple[int, int],
    lock: Mapping[str, str],
) -> BoxImage:
    """From the engine's inspection."""
    settings = settings_of(found)
    return BoxImage(
        id=str(found["Id"]),
        pythons=pythons,
        user=user,
        env=[str(entry) for entry in settings.get("Env") or []],
        volumes=[str(path) for path in settings.get("Volumes") or {}],
        lock=dict(lock),
    )


def settings_of(image: Mapping[str, Any]) -> Mapping[str, Any]:
    """The run settings of an inspected image."""
    settings = image.get("Config")
    return settings if isinstance(settings, Mapping) else {}


def user_of(text: object) -> tuple[int, int]:
    """The image's user where it is given by numbers and is not root, else uid and gid 1000.

    A name could only be read inside the image, by something that is not there yet.
    """
    match = re.fullmatch(r"(\d{1,9})(?::(\d{1,9}))?", text if isinstance(text, str) else "")
    if match is None or int(match[1]) == 0:
        return DEFAULT_USER
    uid = int(match[1])
    gid = int(match[2]) if match[2] else uid
    return uid, gid or uid


def missing_message(engine: Engine, name: str, *, known: bool) -> str:
    """What to do about an image that the engine does not have."""
    if known:
        return (
            f"the image {name!r} was built, but not for the engine at {engine.endpoint.url}: "
            f"run `stockade images build {name}`"
        )
    if re.fullmatch(r"[a-z0-9][a-z0-9_.-]*", name):
        return (
            f"there is no image {name!r} here: run `stockade images build {name}`, or "
            f"`docker pull {name}` if it is a Docker image; a run never pulls"
        )
    return f"there is no image {name!r} here: run `docker pull {name}`; a run never pulls"
