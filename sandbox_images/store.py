"""What operators and boxes ask for: build, find, list, verify."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from sandbox_images.builder import Builder, say, tag_of
from sandbox_images.cache import Cache, default_caches
from sandbox_images.definition import BUILT_IN, Definition, check_name, load_definition
from sandbox_images.derived import from_dockerfile, from_requirements
from sandbox_images.engine import connect
from sandbox_images.errors import ImageNameError, NoTreeError
from sandbox_images.image import HOST, Image
from sandbox_images.tree import tree_digest

__all__ = ["Verification", "build", "find", "list_images", "prune", "remove", "tag", "verify"]


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether an image is still what was built.

    Attributes:
        name: of the image.
        problems: one sentence each; empty when all is well.
    """

    name: str
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Nothing differs."""
        return not self.problems


def build(  # noqa: PLR0913 - one for each flag of the command
    name: str = BUILT_IN,
    *,
    requirements: Path | None = None,
    dockerfile: Path | None = None,
    fresh: bool = False,
    host_fallback: bool = False,
    network: str | None = None,
    progress: Callable[[str], object] = say,
    cache: Cache | None = None,
) -> Image:
    """Build an image, or return at once what is built already.

    Args:
        name: of one of our own definitions; with ``requirements`` or ``dockerfile`` a new name.
        requirements: a project's Python packages, to be added to our own image.
        dockerfile: the operator's own; its ``ARG BASE`` stands for our image.
        fresh: build again although nothing changed, for newer packages.
        host_fallback: where no tree can be built, say so and return HOST instead of raising.
        network: of the engine, for the steps of ``dockerfile``; None: the engine's own choice.
        progress: receives a line for every long step.
        cache: where to build; the machine's or the user's own where None.

    Raises:
        ImageNameError: the operator named a definition or a file that cannot be used.
        NoTreeError: this machine has no way to make a root tree.
        ImageError: a step failed.
    """
    definition = chosen(name, requirements, dockerfile)
    engine = connect()
    own = cache or default_caches()[0]
    try:
        with own.lock(progress):
            builder = Builder(own, engine, progress)
            if requirements is not None:
                return from_requirements(builder, definition, name, requirements, fresh=fresh)
            if dockerfile is not None:
                return from_dockerfile(builder, definition, name, dockerfile, network)
            return builder.from_definition(definition, fresh=fresh)
    except NoTreeError as error:
        if not host_fallback:
            raise
        progress(f"{error}; the host's own system folders take its place")
        return HOST
    finally:
        if engine is not None:
            engine.client.close()


def chosen(name: str, requirements: Path | None, dockerfile: Path | None) -> Definition:
    """The definition that a build starts from."""
    definition = load_definition(name)
    if requirements is not None and dockerfile is not None:
        raise ImageNameError("give --requirements or --dockerfile, not both")
    if requirements is None and dockerfile is None:
        if definition is None:
            raise ImageNameError(f"there is no image definition {name!r}; there is {BUILT_IN!r}")
        return definition
    if definition is not None:
        raise ImageNameError(
            f"{name!r} is the name of our own image; give the project's image a name of its own"
        )
    ours = load_definition(BUILT_IN)
    assert ours is not None
    return ours


def find(name: str = BUILT_IN, *, engine: bool = True, cache: Cache | None = None) -> Image | None:
    """An image that was built, or None; never builds.

    ``docker_id`` is None unless the engine that answers now holds the image; with ``engine``
    false nobody is asked, and the recorded one is returned. An image of ours whose definition
    has changed since counts as not built.
    """
    definition = load_definition(check_name(name))
    for place in (cache,) if cache else default_caches():
        image = place.find(name) if definition is None else place.load(definition.key)
        if image is not None:
            return confirmed(image) if engine else image
    return None


def tag(name: str) -> str:
    """Under which an engine holds the image of a name, whoever built it there."""
    definition = load_definition(check_name(name))
    return tag_of(name, definition.key) if definition else f"stockade/{name}:latest"


def confirmed(image: Image) -> Image:
    """The image with its Docker ID only if an engine answers and holds it."""
    if image.docker_id is None:
        return image
    engine = connect()
    if engine is None:
        return replace(image, docker_id=None)
    with engine:
        return image if engine.holds(image.docker_id) else replace(image, docker_id=None)


def list_images(*, cache: Cache | None = None) -> list[Image]:
    """Every named image that was built, as recorded."""
    found: dict[str, Image] = {}
    for place in (cache,) if cache else default_caches():
        for name in place.names():
            image = place.find(name)
            if image is not None:
                found.setdefault(name, image)
    return [found[name] for name in sorted(found)]


def verify(name: str = BUILT_IN, *, cache: Cache | None = None) -> Verification:
    """Compare an image with its record, file by file."""
    image = find(name, engine=False, cache=cache)
    if image is None:
        raise ImageNameError(f"image {name!r} is not built: run `stockade images build {name}`")
    problems = []
    if image.tree is None:
        problems.append("its root tree is gone")
    elif tree_digest(image.tree) != image.digest:
        problems.append("its root tree differs from what was built")
    if image.docker_id is not None and confirmed(image).docker_id is None:
        problems.append("no Docker engine that answers holds its Docker image")
    return Verification(name, tuple(problems))


def remove(name: str, *, cache: Cache | None = None) -> bool:
    """Remove an image, its tree and its Docker tag; False when there was none."""
    own = cache or default_caches()[0]
    image = own.find(check_name(name))
    if image is None:
        return False
    if image.docker_tag is not None and (engine := connect()) is not None:
        with engine:
            engine.remove(image.docker_tag)
    with own.lock(say):
        return own.drop(name)


def prune(*, cache: Cache | None = None) -> tuple[str, ...]:
    """Remove trees and Docker tags of earlier definitions; "NAME KEY" of each.

    Not while boxes run: one that was opened on such a tree would lose its files.
    """
    own = cache or default_caches()[0]
    engine = connect()
    removed = []
    try:
        with own.lock(say):
            for image in own.unnamed():
                if engine is not None and image.docker_tag is not None:
                    engine.remove(image.docker_tag)
                own.discard(image)
                removed.append(f"{image.name} {image.key}")
    finally:
        if engine is not None:
            engine.client.close()
    return tuple(removed)
