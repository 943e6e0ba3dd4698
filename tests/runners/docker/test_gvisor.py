"""The conformance suite under gVisor, with the gaps of Debian's old release and no others."""

from __future__ import annotations

import os
import shutil

import pytest

import sandbox_images
from runners.conformance import CHECKS, known_gaps, run_check
from runners.docker import DockerRunner
from runners.docker.engine import Engine
from tests.runners.docker.private_engine import PrivateEngine

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start an engine"),
    pytest.mark.skipif(shutil.which("dockerd") is None, reason="dockerd is not installed"),
    pytest.mark.skipif(shutil.which("runsc") is None, reason="runsc is not installed"),
]


@pytest.fixture
def image(api):
    """Our own image, given to an engine of our own."""
    found = sandbox_images.find("python")
    if found is None or found.docker_tag is None or found.docker_id is None:
        pytest.skip("the image python is not built (stockade images build python)")
    return found.docker_tag


@pytest.fixture
def private(api, image):
    import docker

    argv = [shutil.which("runsc"), "--platform=ptrace", "--network=none"]
    engine = PrivateEngine(runtimes={"runsc": argv})
    try:
        engine.start()
        client = docker.APIClient(base_url=engine.endpoint.url, version="auto")
        for _ in client.load_image(b"".join(api.get_image(image))):
            pass
        client.close()
        yield engine
    finally:
        engine.remove()


@pytest.mark.timeout(1200)
async def test_under_gvisor_all_checks_pass_but_the_listed_gaps(private, image, proofs):
    runner = DockerRunner(Engine(private.endpoint), runtime="runsc", image=image, proofs=proofs)
    probe = await runner.probe()
    assert probe.ok, probe.reason
    gaps = known_gaps(probe)
    items = [await run_check(runner, check, image, gaps.get(check.name)) for check in CHECKS]
    await runner.close()
    assert {item.name: item.reason for item in items if item.status == "failed"} == {}
    assert {item.name for item in items if item.status == "gap"} == gaps.keys()
