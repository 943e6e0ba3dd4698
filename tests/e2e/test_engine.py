"""A batch whose engine goes away, and a batch that has nothing of the host but the engine."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import TaskFolder
from tests.runners.docker.private_engine import PrivateEngine

pytestmark = [pytest.mark.slow, pytest.mark.docker, pytest.mark.timeout(600)]

WORK = "#!/bin/bash\nsleep 1\nsed -i 's/a - b/a + b/' calc.py\n"


@pytest.fixture
def private() -> Iterator[PrivateEngine]:
    """An engine of this test's own, which holds our image."""
    import sandbox_images

    image = sandbox_images.find("python")
    assert image is not None
    assert image.docker_id is not None
    engine = PrivateEngine()
    try:
        engine.start()
        save = ["docker", "save", str(image.docker_tag)]
        load = ["docker", "-H", engine.endpoint.url, "load"]
        with subprocess.Popen(save, stdout=subprocess.PIPE) as saved:
            subprocess.run(load, stdin=saved.stdout, check=True, capture_output=True)
        assert saved.returncode == 0
        yield engine
    finally:
        engine.remove()


def test_an_engine_that_is_gone_for_five_seconds_costs_retries_and_nothing_else(
    stockade: Any, tmp_path: Path, private: PrivateEngine
) -> None:
    tasks = tmp_path / "tasks"
    names = [f"t{number}" for number in range(6)]
    for name in names:
        TaskFolder(tasks / name).write("solution/solve.sh", WORK)
    out = tmp_path / "batch"
    done: list[Any] = []
    words = ("batch", tasks, "--policy", stockade.policy, "--runner", "docker", "--agent",
             "oracle", "-j", "2", "--retries", "2", "--out", out, "--json")  # fmt: skip
    environ = {"DOCKER_HOST": private.endpoint.url}
    runs = threading.Thread(target=lambda: done.append(stockade(*words, environ=environ)))
    runs.start()
    until = time.monotonic() + 120
    while not list(out.glob("runs/*/try-1/result.json")) and time.monotonic() < until:
        time.sleep(0.1)
    private.kill()
    time.sleep(5)  # the promise names these seconds
    private.start()
    runs.join()
    summary = json.loads(done[0].out)
    tries = [task["attempts"][0]["tries"] for task in summary["tasks"]]
    assert (done[0].code, summary["passed"], min(tries)) == (0, 6, 1), done[0].err[-3000:]
    assert max(tries) > 1, done[0].err[-3000:]


def test_a_batch_in_a_container_needs_only_the_engines_socket(tmp_path: Path) -> None:
    import docker

    TaskFolder(tmp_path / "tasks" / "one")
    client = docker.from_env()
    # The interpreter and its packages are the host's, as a kit's image would bring them; they
    # are bound read-only. Tasks are copied in: no path of the host is shared with the boxes.
    root = Path(__file__).resolve().parents[2]
    shared = {str(root), sys.prefix, sys.base_prefix, "/usr", "/lib", "/lib64", "/bin"}
    volumes = [f"{path}:{path}:ro" for path in sorted(shared) if Path(path).exists()]
    volumes.append("/var/run/docker.sock:/var/run/docker.sock")
    script = (
        "from harness.cli import main; import sys; "
        "sys.argv = ['stockade', 'batch', '/job/tasks', '--agent', 'oracle', '--runner', 'docker',"
        " '--policy', 'python-dev', '--json']; main()"
    )
    container = client.containers.create(
        image_id(),
        [sys.executable, "-c", script],
        volumes=volumes,
        network_mode="none",
        user="0:0",
        environment={
            "XDG_STATE_HOME": "/tmp/state",
            "XDG_CACHE_HOME": "/tmp/cache",
            "PYTHONPATH": str(root),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": "/tmp",
        },
    )
    try:
        container.put_archive("/", packed(tmp_path / "tasks", "job/tasks"))
        container.start()
        code = container.wait(timeout=300)["StatusCode"]
        out = container.logs(stdout=True, stderr=False).decode()
        err = container.logs(stdout=False, stderr=True).decode()
        assert (code, json.loads(out or "{}").get("passed")) == (0, 1), err[-3000:]
    finally:
        with contextlib.suppress(docker.errors.APIError):
            container.remove(force=True)
        client.close()


def image_id() -> str:
    import sandbox_images

    image = sandbox_images.find("python")
    assert image is not None
    assert image.docker_id is not None
    return image.docker_id


def packed(folder: Path, name: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        tar.add(folder, name)
    return made.getvalue()
