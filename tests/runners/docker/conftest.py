"""An engine, images made from this machine's files, and a check that nothing is left behind."""

from __future__ import annotations

import contextlib
import io
import secrets
import subprocess
import tarfile
from pathlib import Path

import pytest

from policies import Limits, Pipeline, Stage
from runners.contract import SessionSpec
from runners.docker import DockerRunner
from runners.docker.interpreter import TOOLS_LABEL
from runners.docker.proof import Proofs

TEST_LABEL = "stockade.test"
SMALL = Limits(wall_seconds=20, memory_mib=64, disk_mib=32, processes=32)


@pytest.fixture(scope="session")
def api():
    """The SDK's own client, to look at the engine independently of our code."""
    import docker

    client = docker.APIClient(version="auto")
    yield client
    client.close()


def import_image(api, tar: bytes, name: str, changes: list[str]) -> str:
    changes = [*changes, f"LABEL {TEST_LABEL}=1"]
    api.import_image_from_data(tar, repository=name, tag="test", changes=changes)
    return api.inspect_image(f"{name}:test")["Id"]


@pytest.fixture(scope="session")
def machine_image(api):
    """The id of an image with Python, a shell and some tools."""
    from tests.runners.docker.machine_image import machine_tar

    changes = ["ENV SECRET_OF_THE_IMAGE=1", "VOLUME /var/lib/data", 'ENTRYPOINT ["/bin/false"]']
    image = import_image(api, machine_tar(), "stockade-test-machine", changes)
    yield image
    api.remove_image(image, force=True)
    for volume in api.volumes(filters={"label": f"{TOOLS_LABEL}={image}"})["Volumes"] or []:
        api.remove_volume(volume["Name"])


@pytest.fixture
def run() -> str:
    """The run that all sessions of this test belong to."""
    return f"test-{secrets.token_hex(6)}"


@pytest.fixture
def ours(api, run):
    """The containers of this test's run, by id; after the test none may be left."""

    def listing() -> dict[str, dict]:
        found = api.containers(all=True, filters={"label": f"stockade.run={run}"})
        return {entry["Id"]: entry for entry in found}

    yield listing
    left = listing()
    for container in left:
        api.remove_container(container, force=True, v=True)
    assert not left, "containers were left behind"


@pytest.fixture(scope="session")
def bare_image(api):
    """The id of an image with a shell and some tools, but no Python."""
    from tests.runners.docker.machine_image import machine_tar

    image = import_image(api, machine_tar(python=False), "stockade-test-bare", [])
    yield image
    api.remove_image(image, force=True)


@pytest.fixture(scope="session")
def busybox_image(api):
    """The id of an image that is one static program: no libc, no loader, no shell of ours."""
    busybox = Path("/bin/busybox")
    told = subprocess.run(["ldd", busybox], capture_output=True, text=True, check=False)
    if not busybox.exists() or "not a dynamic executable" not in told.stderr:
        pytest.skip("there is no static busybox (apt: busybox-static)")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.add(busybox, "bin/busybox")
    image = import_image(api, buffer.getvalue(), "stockade-test-busybox", [])
    yield image
    api.remove_image(image, force=True)


@pytest.fixture(scope="session")
def proofs(tmp_path_factory):
    """What this test run has proved of the engine."""
    return Proofs(tmp_path_factory.mktemp("proofs"))


@pytest.fixture
async def runner(machine_image, proofs):
    runner = DockerRunner(image=machine_image, proofs=proofs)
    yield runner
    await runner.close()


@pytest.fixture
async def open_box(runner, machine_image, run, ours):
    """Open sessions with small limits; they are closed at the end of the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def open_box(**changes) -> Box:
            spec = SessionSpec(**{"run": run, "image": machine_image, "limits": SMALL} | changes)
            session = await runner.open(spec)
            stack.push_async_callback(session.close)
            return Box(session)

        yield open_box


class Box:
    """A session, with shorter ways to say what tests say often."""

    def __init__(self, session) -> None:
        self.session = session

    async def run(self, *argv: str, **options):
        return await self.session.run(Pipeline((Stage(argv),)), **options)

    async def sh(self, script: str, **options):
        return await self.run("bash", "-c", script, **options)

    async def python(self, script: str, **options):
        return await self.run("python3", "-I", "-S", "-c", script, **options)
