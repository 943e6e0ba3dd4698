"""Image: one root tree, as a folder and as a Docker image, with its record on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from sandbox_images.errors import ImageError

__all__ = ["HOST", "Image", "Source", "read_record", "write_record"]

SCHEMA = 1
Source = Literal["registry", "packages", "dockerfile", "host"]


@dataclass(frozen=True, slots=True)
class Image:
    """What a program finds as ``/``.

    Attributes:
        name: how operators and tasks call it.
        key: hash of all that it was made from.
        source: a base from a registry, the host distribution's packages, a Dockerfile of the
            operator's, or the host's own system folders (no tree could be built).
        docker_id: ID of the Docker image; None where no engine holds it.
        docker_digest: what a registry called the base; None where none answered.
        docker_tag: the tag under which the engine knows it.
        tree: the same tree, unpacked.
        digest: of the tree's names, modes and contents.
        python: absolute path of its interpreter, inside; None when it has none.
        python_version: as in "3.11.2".
        uid: of its unprivileged user.
        gid: of its unprivileged user.
        packages: versions of the distribution's packages.
        requirements: Python packages added, as in "attrs==23.1.0".
        created: RFC 3339, UTC.
    """

    name: str
    key: str = ""
    source: Source = "packages"
    docker_id: str | None = None
    docker_digest: str | None = None
    docker_tag: str | None = None
    tree: Path | None = None
    digest: str | None = None
    python: str | None = "/usr/bin/python3"
    python_version: str = ""
    uid: int = 1000
    gid: int = 1000
    packages: Mapping[str, str] = field(default_factory=dict)
    requirements: tuple[str, ...] = ()
    created: str = ""

    @property
    def lock(self) -> dict[str, str]:
        """What a run writes down about it; nothing that is not known."""
        facts = {
            "name": self.name,
            "source": self.source,
            "id": self.docker_id,
            "digest": self.docker_digest,
            "tree": self.digest,
        }
        return {key: value for key, value in facts.items() if value}


HOST = Image(name="host", source="host")
"""The host's own system folders: what is left where no tree can be built (decision 1)."""


def write_record(image: Image, path: Path) -> None:
    """Write an image's record beside its tree, whole or not at all."""
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "name": image.name,
        "key": image.key,
        "source": image.source,
        "created": image.created,
        "docker": {
            "id": image.docker_id,
            "digest": image.docker_digest,
            "tag": image.docker_tag,
        },
        "tree": image.digest,
        "python": {"path": image.python, "version": image.python_version},
        "user": {"uid": image.uid, "gid": image.gid},
        "packages": dict(sorted(image.packages.items())),
        "requirements": list(image.requirements),
    }
    draft = path.with_name(path.name + ".new")
    draft.write_text(json.dumps(record, indent=1) + "\n")
    draft.chmod(0o644)
    draft.replace(path)


def read_record(path: Path, tree: Path) -> Image:
    """Read an image's record; a record that does not parse is an ImageError."""
    try:
        record = json.loads(path.read_text())
        if record["schema"] != SCHEMA:
            raise ImageError(f"{path}: schema {record['schema']}, this version reads {SCHEMA}")
        image = Image(
            name=record["name"],
            key=record["key"],
            source=record["source"],
            docker_id=record["docker"]["id"],
            docker_digest=record["docker"]["digest"],
            docker_tag=record["docker"]["tag"],
            digest=record["tree"],
            python=record["python"]["path"],
            python_version=record["python"]["version"],
            uid=record["user"]["uid"],
            gid=record["user"]["gid"],
            packages=record["packages"],
            requirements=tuple(record["requirements"]),
            created=record["created"],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ImageError(
            f"{path} is damaged ({error}); remove its folder and build the image again"
        ) from error
    return replace(image, tree=tree) if tree.is_dir() else image
