"""Building images: the tree, the Docker image of it, their record; each step only if it is due."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from sandbox_images.bootstrap import bootstrap
from sandbox_images.cache import Cache
from sandbox_images.definition import Definition
from sandbox_images.engine import Engine
from sandbox_images.errors import ImageError, NoTreeError
from sandbox_images.extract import extract
from sandbox_images.image import Image, Source
from sandbox_images.tree import (
    dpkg_packages,
    find_python,
    finish_tree,
    tree_digest,
    unpack,
)

__all__ = ["Builder", "Progress", "say"]

Progress = Callable[[str], object]


def say(line: str) -> None:
    """Progress for people: one line on standard error."""
    sys.stderr.write(f"images: {line}\n")
    sys.stderr.flush()


class Builder:
    """Builds into one cache, with the engine that answers, if one does. Holds no lock itself."""

    def __init__(self, cache: Cache, engine: Engine | None, progress: Progress) -> None:
        self.cache = cache
        self.engine = engine
        self.progress = progress

    def complete(self, image: Image | None) -> bool:
        """Whether nothing is left to build: a tree, and the Docker image where there are some."""
        if image is None or image.tree is None:
            return False
        return self.engine is None or self.engine.holds(image.docker_id)

    def from_definition(self, definition: Definition, *, fresh: bool = False) -> Image:
        """Build one of our own images, from a registry's base or from packages."""
        kept = None if fresh else self.cache.load(definition.key)
        if kept is not None and self.complete(kept):
            return self.cache.keep(kept, None)
        with self.cache.building() as folder:
            if kept is not None and kept.tree is not None:
                return self.cache.keep(self.imported(definition, kept, kept.tree), None)
            image = self.from_registry(definition, folder) if self.engine else None
            if image is None:
                image = self.from_packages(definition, folder)
            return self.cache.keep(image, folder / "tree")

    def from_registry(self, definition: Definition, folder: Path) -> Image | None:
        """Build on a registry's base and take the tree out; None where no registry answers."""
        assert self.engine is not None
        base = definition.default_base
        self.progress(f"asking the registry for {base}")
        digest = self.engine.pull(base)
        if not self.engine.holds(base):
            self.progress("no registry answers")
            return None
        try:
            docker_id = self.engine.build(
                files_of(definition),
                base=base,
                tag=tag_of(definition.name, definition.key),
                labels=labels_of(definition.name, definition.key),
                progress=self.progress,
            )
        except ImageError as error:
            self.progress(f"the base does not build here: {error}")
            return None
        self.take_tree(docker_id, folder)
        image = self.described(definition.name, definition.key, "registry", folder / "tree")
        return replace(
            image,
            docker_id=docker_id,
            docker_digest=digest,
            docker_tag=tag_of(definition.name, definition.key),
        )

    def from_packages(self, definition: Definition, folder: Path) -> Image:
        """Build the tree of the host distribution's packages, then the image of it."""
        tree = self.package_tree(definition, folder)
        setup = ["sh", str(definition.setup), str(tree)]
        done = subprocess.run(setup, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ImageError(f"{definition.setup.name} failed: {done.stderr.strip()[-500:]}")
        finish_tree(tree)
        image = self.described(definition.name, definition.key, "packages", tree)
        return self.imported(definition, image, tree) if self.engine else image

    def package_tree(self, definition: Definition, folder: Path) -> Path:
        """The tree by the first way that is open; the reasons of all if none is."""
        reasons = []
        for way in (bootstrap, extract):
            try:
                return way(definition, folder, self.progress)
            except NoTreeError as error:
                reasons.append(str(error))
        raise NoTreeError("no root tree can be built here: " + "; ".join(dict.fromkeys(reasons)))

    def imported(self, definition: Definition, image: Image, tree: Path) -> Image:
        """Give a finished tree to the engine: as a base, and the Dockerfile on it."""
        assert self.engine is not None
        versions = "\n".join(f"{name}={image.packages[name]}" for name in sorted(image.packages))
        listed = hashlib.sha256((versions or image.digest or "").encode()).hexdigest()[:24]
        base = f"stockade/base:{listed}"
        known = self.engine.labels(base)
        if known.get("stockade.tree") != image.digest:
            self.progress(f"importing the tree as {base}")
            labels = {"stockade.base": listed, "stockade.tree": image.digest or ""}
            self.engine.import_tree(tree, base, labels)
        tag = tag_of(definition.name, definition.key)
        labels = {**labels_of(definition.name, definition.key), "stockade.tree": image.digest or ""}
        found = self.engine.inspect(tag)
        if found is not None and labels.items() <= self.engine.labels(tag).items():
            docker_id = str(found["Id"])  # another cache of this machine had it built
        else:
            docker_id = self.engine.build(
                files_of(definition),
                base=base,
                tag=tag,
                network="none",
                labels=labels,
                progress=self.progress,
            )
        return replace(image, docker_id=docker_id, docker_digest=None, docker_tag=tag)

    def take_tree(self, reference: str, folder: Path) -> None:
        """Unpack an engine's image as ``folder/tree``."""
        assert self.engine is not None
        self.progress("unpacking the image's root tree")
        archive = folder / "export.tar"
        self.engine.export(reference, archive)
        unpack(archive, folder / "tree")
        archive.unlink()
        finish_tree(folder / "tree")

    def described(self, name: str, key: str, source: Source, tree: Path) -> Image:
        """The record of a finished tree."""
        python, version = find_python(tree)
        return Image(
            name=name,
            key=key,
            source=source,
            tree=tree,
            digest=tree_digest(tree),
            python=python,
            python_version=version,
            packages=dpkg_packages(tree),
            created=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        )


def files_of(definition: Definition) -> dict[str, bytes]:
    """The build context of one of our own images."""
    paths = (definition.dockerfile, definition.package_list, definition.setup)
    return {path.name: path.read_bytes() for path in paths}


def tag_of(name: str, key: str) -> str:
    """The tag of our image in an engine; nothing of the user's has this prefix."""
    return f"stockade/{name}:{key}"


def labels_of(name: str, key: str) -> dict[str, str]:
    """By these an image is known as ours."""
    return {"stockade.image": name, "stockade.key": key}
