"""Definition: what an image is made of, and the key that stands for all of it."""

from __future__ import annotations

import hashlib
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from sandbox_images.errors import ImageNameError

__all__ = ["BUILT_IN", "Definition", "check_name", "key_of", "load_definition"]

HERE = Path(__file__).parent
BUILT_IN = "python"
NAME = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")
RECIPE = "2"
"""Changes when the builder itself makes other trees of the same definition."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A folder with Dockerfile, packages.txt and setup.sh."""

    name: str
    folder: Path

    @property
    def dockerfile(self) -> Path:
        """Works on a base from a registry and on one made of packages."""
        return self.folder / "Dockerfile"

    @property
    def setup(self) -> Path:
        """Turns a root tree into the image, inside Docker and outside."""
        return self.folder / "setup.sh"

    @property
    def package_list(self) -> Path:
        """Names of the distribution's packages."""
        return self.folder / "packages.txt"

    @property
    def packages(self) -> tuple[str, ...]:
        """Names of the distribution's packages, without comments."""
        lines = (line.strip() for line in self.package_list.read_text().splitlines())
        return tuple(line for line in lines if line and not line.startswith("#"))

    @property
    def key(self) -> str:
        """Hash of every file, the machine's architecture and the builder's own version."""
        files = (self.dockerfile, self.package_list, self.setup)
        return key_of(RECIPE, platform.machine(), *(path.read_text() for path in files))

    @property
    def default_base(self) -> str:
        """The base that the Dockerfile names for machines that reach a registry."""
        found = re.search(r"^ARG BASE=(\S+)", self.dockerfile.read_text(), re.MULTILINE)
        if found is None:
            raise ImageNameError(f"{self.dockerfile} has no line 'ARG BASE=...'")
        return found[1]


def key_of(*parts: str) -> str:
    """A short hash of texts, none of which can pass for a piece of its neighbour."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()[:24]


def check_name(name: str) -> str:
    """A name that can be a file and a Docker tag, or an ImageNameError."""
    if len(name) <= 100 and NAME.fullmatch(name):
        return name
    raise ImageNameError(
        f"{name!r} cannot be the name of an image: use lower-case letters, digits and single"
        " '.', '_' or '-' between them"
    )


def load_definition(name: str = BUILT_IN) -> Definition | None:
    """The definition that this distribution brings under a name, if it brings one."""
    folder = HERE / check_name(name)
    if not (folder / "Dockerfile").is_file():
        return None
    return Definition(name, folder)
