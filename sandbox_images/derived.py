"""Images of the operator's own: a project's packages, or a Dockerfile, on top of ours."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sandbox_images.builder import Builder, labels_of, tag_of
from sandbox_images.compiled import compile_modules
from sandbox_images.definition import Definition, key_of
from sandbox_images.errors import ImageError, ImageNameError
from sandbox_images.image import Image
from sandbox_images.tree import finish_tree
from sandbox_images.wheels import installed, overlay_wheels, read_requirements

__all__ = ["from_dockerfile", "from_requirements"]

LAID_OVER = b"ARG BASE\nFROM ${BASE}\nUSER 0\nCOPY overlay/ /\nUSER 1000:1000\n"


def from_requirements(
    builder: Builder, definition: Definition, name: str, requirements: Path, *, fresh: bool
) -> Image:
    """Our image with a project's packages in its interpreter's own site folder."""
    text = read_requirements(requirements)
    below = builder.from_definition(definition)
    if below.tree is None:
        raise ImageError(f"the tree of image {below.name!r} is gone; build it again")
    key = key_of("requirements", below.key, text)
    kept = None if fresh else builder.cache.load(key)
    if kept is not None and builder.complete(kept):
        return builder.cache.keep(replace(kept, name=name), None)
    with builder.cache.building() as folder:
        folder.chmod(0o755)
        overlay = overlay_wheels(requirements, below.python_version, folder, builder.progress)
        site = overlay / "usr/local/lib" / f"python{below.python_version}" / "dist-packages"
        tree = folder / "tree"
        copy(below.tree, tree)
        copy_into(overlay, tree)
        compile_modules(tree, [tree / site.relative_to(overlay)])
        copy_into(tree / site.relative_to(overlay), site)
        image = replace(
            builder.described(name, key, below.source, tree),
            docker_digest=below.docker_digest,
            requirements=installed(overlay),
        )
        if builder.engine is not None:
            image = laid_over(builder, image, below, folder)
        return builder.cache.keep(image, tree)


def laid_over(builder: Builder, image: Image, below: Image, folder: Path) -> Image:
    """The Docker image of an overlay."""
    assert builder.engine is not None
    context = folder / "context"
    context.mkdir()
    (folder / "overlay").rename(context / "overlay")
    (context / "Dockerfile").write_bytes(LAID_OVER)
    tag = tag_of(image.name, image.key)
    docker_id = builder.engine.build(
        context / "Dockerfile",
        base=below.docker_tag or "",
        tag=tag,
        network="none",
        labels=labels_of(image.name, image.key),
        progress=builder.progress,
    )
    return replace(image, docker_id=docker_id, docker_tag=tag)


def from_dockerfile(
    builder: Builder, definition: Definition, name: str, dockerfile: Path, network: str | None
) -> Image:
    """The image of an operator's Dockerfile; its folder is the build's context.

    ``ARG BASE`` in it stands for our own image. Docker's own cache decides what is built again.
    """
    if not dockerfile.is_file():
        raise ImageNameError(f"there is no Dockerfile at {dockerfile}")
    if builder.engine is None:
        raise ImageError(
            f"{dockerfile} needs a Docker engine to be built, and none answers; start one, or"
            " give the project's packages with --requirements"
        )
    below = builder.from_definition(definition)
    docker_id = builder.engine.build(
        dockerfile.resolve(),
        base=below.docker_tag or "",
        tag=f"stockade/{name}:latest",
        network=network,
        labels={"stockade.image": name},
        progress=builder.progress,
    )
    key = key_of("dockerfile", docker_id)
    kept = builder.cache.load(key)
    if kept is not None and kept.tree is not None:
        return builder.cache.keep(replace(kept, name=name), None)
    with builder.cache.building() as folder:
        builder.take_tree(docker_id, folder)
        finish_tree(folder / "tree")
        image = builder.described(name, key, "dockerfile", folder / "tree")
        uid, gid = user_of(builder.engine.inspect(docker_id) or {}, folder / "tree")
        tag = f"stockade/{name}:latest"
        image = replace(image, docker_id=docker_id, docker_tag=tag, uid=uid, gid=gid)
        return builder.cache.keep(image, folder / "tree")


def user_of(inspected: Mapping[str, Any], tree: Path) -> tuple[int, int]:
    """The numbers of an image's user; root and nobody in particular become 1000."""
    user, _, group = str((inspected.get("Config") or {}).get("User") or "").partition(":")
    uid, gid = user, group
    if not user.isdigit() and not (tree / "etc").is_symlink():
        passwd = tree / "etc/passwd"
        lines = [] if passwd.is_symlink() else passwd.read_text(errors="replace").splitlines()
        rows = [line.split(":") for line in lines]
        uid, gid = next(((row[2], row[3]) for row in rows if row[0] == user), ("", ""))
    if not uid.isdigit() or int(uid) == 0:
        return 1000, 1000
    return int(uid), int(gid) if gid.isdigit() and int(gid) != 0 else int(uid)


def copy(source: Path, target: Path) -> None:
    """Copy a tree with links, modes and times, sharing blocks where the file system can."""
    argv = ["cp", "-a", "--reflink=auto", str(source), str(target)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ImageError(f"the tree cannot be copied: {done.stderr.strip()[-300:]}")


def copy_into(source: Path, target: Path) -> None:
    """Lay one tree over another."""
    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
