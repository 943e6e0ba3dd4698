"""The image that a task runs in: named, mapped by the operator, or built of its Dockerfile.

Built once for each content, under a name made of it; what runs is the operator's machine, so a
base image that no registry answers for is replaced by what ``[images] map`` names instead.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.config import Images
from harness.errors import ConfigError, HarnessError
from runners.workspace import digest, scratch_folder

__all__ = ["built_image", "files_of_image", "mapped"]

FROM = re.compile(
    r"^(?P<head>\s*FROM\s+(?:--\S+\s+)*)(?P<base>\S+)(?P<rest>.*)$", re.IGNORECASE | re.MULTILINE
)
OURS = "python"
MOST_BYTES = 512 << 20


def mapped(docker_image: str | None, images: Images) -> str | None:
    """The image of the operator's that stands for a registry's name, else that name."""
    return None if docker_image is None else images.map.get(docker_image, docker_image)


async def built_image(dockerfile: Path, images: Images, say: Callable[[str], None]) -> str:
    """The name of the image that a Dockerfile describes; built if its content is new."""
    return await asyncio.to_thread(build, dockerfile, images, say)


def build(dockerfile: Path, images: Images, say: Callable[[str], None]) -> str:
    """As above, waiting."""
    import sandbox_images

    text = dockerfile.read_text(encoding="utf-8", errors="replace")
    bases = [match["base"] for match in FROM.finditer(text)]
    chosen = [f"{base}={images.map[base]}" for base in bases if base in images.map]
    content = f"{digest(dockerfile.parent)} {dockerfile.name} {' '.join(chosen)}"
    name = f"task-{hashlib.sha256(content.encode()).hexdigest()[:16]}"
    found = sandbox_images.find(name)
    if found is not None and found.docker_id is not None:
        return name
    say(f"building the image of {dockerfile} as {name}")
    with scratch_folder("build") as folder:
        context = folder / "context"
        shutil.copytree(dockerfile.parent, context, symlinks=True)
        (context / dockerfile.name).unlink()  # it may be a link that leads anywhere
        (context / dockerfile.name).write_text(based_on(text, images), encoding="utf-8")
        try:
            sandbox_images.build(
                name, dockerfile=context / dockerfile.name, network=images.network, progress=say
            )
        except sandbox_images.ImageError as error:
            hint = "; [images] map in the configuration can name images that are here instead"
            raise HarnessError(f"{error}{hint if not chosen else ''}") from error
    return name


def based_on(text: str, images: Images) -> str:
    """A Dockerfile whose base images are those of the operator's map.

    Its steps expect to be root's, as they are in the images it names; no box runs as root.
    """

    def other(match: re.Match[str]) -> str:
        name = images.map.get(match["base"])
        if name is None:
            return match[0]
        base = "${BASE}" if name == OURS else name
        return f"{match['head']}{base}{match['rest']}\nUSER 0"

    made = FROM.sub(other, text)
    return made if made == text or "ARG BASE" in text else f"ARG BASE\n{made}"


async def files_of_image(image: str, workdir: str) -> Path | None:
    """A folder with what an image holds in its working folder; None where it holds nothing."""
    return await asyncio.to_thread(find_files, image, workdir)


def find_files(image: str, workdir: str) -> Path | None:
    """In the image's tree, where we have one, else out of the engine's image."""
    import sandbox_images

    try:
        found = sandbox_images.find(image, engine=False)
    except sandbox_images.ImageNameError:
        found = None
    if found is None or found.tree is None:
        return extracted(image, workdir)
    folder = (found.tree / workdir.lstrip("/")).resolve()
    inside = folder.is_relative_to(found.tree.resolve()) and folder != found.tree.resolve()
    return folder if inside and folder.is_dir() and any(folder.iterdir()) else None


def extracted(image: str, workdir: str) -> Path | None:
    """The working folder of an engine's image, kept in the cache by the image's ID."""
    import docker
    from docker.errors import DockerException, NotFound

    from sandbox_images.cache import default_caches

    try:
        client = docker.from_env()
    except DockerException:
        return None  # the box that is chosen will say what is missing
    try:
        ident = client.images.get(image).id or ""
        name = hashlib.sha256(f"{ident} {workdir}".encode()).hexdigest()[:24]
        kept = default_caches()[0].root / "workspaces" / name
        if not kept.is_dir():
            container = client.containers.create(ident, command=["true"], network_mode="none")
            try:
                take_out(container, workdir, kept)
            finally:
                container.remove(force=True)
        return kept if any(kept.iterdir()) else None
    except NotFound:
        return None
    except DockerException as error:
        raise HarnessError(
            f"{image}: its working folder {workdir} cannot be read: {error}"
        ) from None
    finally:
        client.close()


def take_out(container: Any, workdir: str, kept: Path) -> None:  # noqa: ANN401 - no types there
    """Unpack a folder of a container that was never started."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    chunks, _ = container.get_archive(f"{workdir}/.")
    with (
        tempfile.TemporaryFile() as file,
        tempfile.TemporaryDirectory(dir=kept.parent, prefix=".part-") as part,
    ):
        total = 0
        for chunk in chunks:
            total += len(chunk)
            if total > MOST_BYTES:
                raise ConfigError(f"{workdir} of the image holds more than {MOST_BYTES >> 20} MiB")
            file.write(chunk)
        file.seek(0)
        with tarfile.open(fileobj=file) as archive:
            archive.extractall(Path(part) / "files", filter="data")
        (Path(part) / "files").replace(kept)
