"""Engine: a Docker engine, for control only (decision 1: it holds the same tree as an image)."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox_images.errors import ImageError
from sandbox_images.tree import tar_argv

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["Engine", "connect"]

DEFAULT_HOST = "unix:///var/run/docker.sock"
ANSWER_SECONDS = 10
PULL_SECONDS = 60
BUILD_SECONDS = 1800
CHUNK = 1 << 20


def connect() -> Engine | None:
    """The engine that the environment names, or None when none answers."""
    if not listening(os.environ.get("DOCKER_HOST") or DEFAULT_HOST):
        return None
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=ANSWER_SECONDS)
    except DockerException:
        return None
    try:
        client.ping()
    except (DockerException, OSError):
        client.close()
        return None
    return Engine(client)


def listening(host: str) -> bool:
    """Whether somebody may listen: asked before the SDK, whose failed attempt leaks a socket."""
    if not host.startswith("unix://"):
        return True
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as attempt:
        attempt.settimeout(ANSWER_SECONDS)
        try:
            attempt.connect(host.removeprefix("unix://"))
        except OSError:
            return False
    return True


class Engine:
    """Images of one Docker engine. Ours carry the tags ``stockade/...`` and a label."""

    def __init__(self, client: DockerClient) -> None:
        self.client = client

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def inspect(self, reference: str) -> dict[str, Any] | None:
        """What the engine knows about an image, or None."""
        from docker.errors import ImageNotFound

        api: Any = self.client.api
        try:
            return dict(api.inspect_image(reference))
        except ImageNotFound:
            return None

    def holds(self, reference: str | None) -> bool:
        """Whether the engine has an image."""
        return reference is not None and self.inspect(reference) is not None

    def labels(self, reference: str) -> dict[str, str]:
        """Labels of an image; none if it is not there."""
        config = (self.inspect(reference) or {}).get("Config") or {}
        return dict(config.get("Labels") or {})

    def pull(self, reference: str) -> str | None:
        """The registry's digest of a base, pulled where it is missing; None if none answers."""
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        found = self.inspect(reference)
        if found is None:
            repository, _, tag = reference.partition(":")
            try:
                with self._patient(PULL_SECONDS):
                    self.client.images.pull(repository, tag or "latest")
            except (DockerException, RequestException):
                return None
            found = self.inspect(reference)
        digests = (found or {}).get("RepoDigests") or []
        return str(digests[0]).partition("@")[2] if digests else None

    def import_tree(self, tree: Path, tag: str, labels: Mapping[str, str]) -> str:
        """Give a tree to the engine as an image of one layer; its ID."""
        changes = [f"LABEL {name}={value}" for name, value in labels.items()]
        repository, _, version = tag.partition(":")
        packer = subprocess.Popen(tar_argv(tree), stdout=subprocess.PIPE)
        assert packer.stdout is not None
        try:
            with packer.stdout as pipe, self._patient(BUILD_SECONDS):
                answer = self.client.api.import_image_from_stream(
                    iter(lambda: pipe.read(CHUNK), b""),
                    repository=repository,
                    tag=version,
                    changes=changes,
                )
        finally:
            packed = packer.wait()
        if packed != 0:
            raise ImageError(f"tar failed with {packed} while packing {tree}")
        found = self.inspect(tag)
        if found is None:
            raise ImageError(f"the Docker engine did not take the tree: {str(answer)[-300:]}")
        return str(found["Id"])

    def build(
        self,
        source: Mapping[str, bytes] | Path,
        *,
        tag: str,
        progress: Callable[[str], object],
        base: str,
        network: str | None = None,
        labels: Mapping[str, str],
    ) -> str:
        """Build files that are a context in memory, or a Dockerfile in its folder; the ID."""
        from docker.errors import DockerException

        where: dict[str, Any]
        if isinstance(source, Path):
            where = {"path": str(source.parent), "dockerfile": source.name}
        else:
            where = {"fileobj": context_archive(source), "custom_context": True}
        try:
            with self._patient(BUILD_SECONDS):
                lines = self.client.api.build(
                    **where,
                    tag=tag,
                    rm=True,
                    forcerm=True,
                    decode=True,
                    network_mode=network,
                    buildargs={"BASE": base},
                    labels=dict(labels),
                )
                follow(lines, progress)
        except (DockerException, OSError) as error:
            raise ImageError(f"docker build of {tag} failed: {error}") from error
        found = self.inspect(tag)
        if found is None:
            raise ImageError(f"docker build of {tag} ended without an image")
        return str(found["Id"])

    def export(self, reference: str, path: Path) -> None:
        """Write an image's root tree to an archive, through a container that is never started."""
        made = self.client.api.create_container(
            reference, command=["true"], labels={"stockade.export": "1"}
        )
        try:
            with self._patient(BUILD_SECONDS), path.open("wb") as file:
                for chunk in self.client.api.export(made["Id"], chunk_size=CHUNK):
                    file.write(chunk)
        finally:
            self.client.api.remove_container(made["Id"], force=True)

    def remove(self, reference: str) -> None:
        """Remove one of our own tags; an image still in use stays."""
        from docker.errors import DockerException

        with suppress(DockerException):
            self.client.api.remove_image(reference)

    def _patient(self, seconds: float) -> _Patience:
        return _Patience(self.client, seconds)


class _Patience:
    """A longer deadline for one exchange with the engine."""

    def __init__(self, client: DockerClient, seconds: float) -> None:
        self.api: Any = client.api
        self.seconds = seconds
        self.before: Any = None

    def __enter__(self) -> None:
        self.before, self.api.timeout = self.api.timeout, self.seconds

    def __exit__(self, *_: object) -> None:
        self.api.timeout = self.before


def context_archive(files: Mapping[str, bytes]) -> io.BytesIO:
    """A build context of a few small files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    stream.seek(0)
    return stream


def follow(lines: Iterator[dict[str, Any]], progress: Callable[[str], object]) -> None:
    """Pass a build's steps on; its error is ours."""
    said: list[str] = []
    for line in lines:
        text = str(line.get("stream", "")).strip()
        if text.startswith("Step "):
            progress(text.splitlines()[0])
        elif text:
            said = [*said[-8:], text]
        if "error" in line:
            words = "\n  ".join([*said, str(line["error"]).strip()])
            raise ImageError(f"docker build failed:\n  {words}")
