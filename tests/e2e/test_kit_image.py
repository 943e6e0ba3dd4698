"""The image of the harness is built, and runs a batch with nothing of the host but the engine."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import TaskFolder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.network,
    pytest.mark.docker,
    pytest.mark.timeout(900),
]

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "examples" / "ci" / "Dockerfile"
PIP_OF_DEBIAN = (Path("/usr/lib/python3.11/ensurepip"), Path("/usr/share/python-wheels"))
BASE = """\
FROM {image}
USER 0
COPY ensurepip /usr/lib/python3.11/ensurepip
COPY python-wheels /usr/share/python-wheels
COPY wheels /wheels
ENV PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels
"""
"""Stands for python:3.12-slim where no registry answers: ours with pip, and packages for it."""


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    import docker

    client = docker.from_env(timeout=600)
    yield client
    client.close()


@pytest.fixture(scope="module")
def base(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A base image with Python and pip, whose pip needs no network."""
    import sandbox_images

    for place in PIP_OF_DEBIAN:
        if not place.is_dir():
            pytest.skip(f"{place} is missing (apt-get install python3-venv)")
    image = sandbox_images.find("python")
    assert image is not None
    context = tmp_path_factory.mktemp("base")
    pip = [sys.executable, "-m", "pip", "download", "-q", "-d", str(context / "wheels")]
    for words in ([str(ROOT)], ["hatchling"]):
        subprocess.run([*pip, *words], check=True, capture_output=True)
    for place in PIP_OF_DEBIAN:
        shutil.copytree(place, context / place.name)
    (context / "Dockerfile").write_text(BASE.format(image=image.docker_tag))
    with built(engine, "base", path=str(context)) as tag:
        yield tag


@pytest.fixture(scope="module")
def kit(engine: Any, base: str) -> Iterator[str]:
    """The image that examples/ci/Dockerfile describes."""
    with built(
        engine,
        "kit",
        fileobj=io.BytesIO(repository()),
        custom_context=True,
        dockerfile="examples/ci/Dockerfile",
        buildargs={"PYTHON": base},
    ) as tag:
        yield tag


@contextlib.contextmanager
def built(engine: Any, name: str, **said: Any) -> Iterator[str]:
    """An image, which goes at the end."""
    tag = f"stockade-test/{name}:kit"
    engine.images.build(tag=tag, network_mode="none", rm=True, forcerm=True, **said)
    try:
        yield tag
    finally:
        engine.images.remove(tag, force=True)


def repository() -> bytes:
    """What a clone would send to the engine: the files that git does not ignore."""
    argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(argv, cwd=ROOT, capture_output=True, check=True)
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).exists():
                tar.add(ROOT / name, name, recursive=False)
    return made.getvalue()


def container(engine: Any, image: str, words: list[str], tasks: Path | None = None) -> Any:
    """Exit code, output and errors of a container that has only the engine's socket."""
    made = engine.containers.create(
        image,
        words,
        volumes=["/var/run/docker.sock:/var/run/docker.sock"],
        network_mode="none",
    )
    try:
        if tasks is not None:
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w") as tar:
                tar.add(tasks, "job/tasks")
            made.put_archive("/", packed.getvalue())
        made.start()
        code = made.wait(timeout=300)["StatusCode"]
        out, err = (made.logs(stdout=want, stderr=not want).decode() for want in (True, False))
        return code, out, err
    finally:
        made.remove(force=True, v=True)


def test_the_image_says_its_version(engine: Any, kit: str) -> None:
    from importlib.metadata import version

    code, out, err = container(engine, kit, ["--version"])
    assert (code, version("stockade-harness") in out) == (0, True), err


def test_a_batch_in_the_image_needs_only_the_engines_socket(
    engine: Any, kit: str, tmp_path: Path
) -> None:
    TaskFolder(tmp_path / "tasks" / "one")
    bad = TaskFolder(tmp_path / "tasks" / "two")
    bad.write("solution/solve.sh", "#!/bin/bash\ntrue\n")
    words = ["batch", "/job/tasks", "--agent", "oracle", "--runner", "docker"]
    code, out, err = container(
        engine, kit, [*words, "--policy", "python-dev", "--json"], tmp_path / "tasks"
    )
    summary = json.loads(out or "{}")
    assert (code, summary.get("passed"), summary.get("failed")) == (1, 1, 1), err[-3000:]
