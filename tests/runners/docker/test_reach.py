"""An engine behind TCP or ssh gives the same sessions as one behind a path socket."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from policies import Pipeline, Stage
from runners.contract import SessionSpec
from runners.docker import DockerRunner
from runners.docker.endpoint import DEFAULT_SOCKET, Endpoint, parse_endpoint
from runners.docker.engine import Engine
from runners.errors import UnavailableError, WorkspaceError
from tests.runners.docker.conftest import SMALL
from tests.runners.docker.forward import forwarded_port

pytestmark = pytest.mark.docker


@pytest.fixture
async def forwarded():
    """The engine's path socket, reachable at a port of loopback."""
    async with forwarded_port() as port:
        yield Endpoint("tcp", f"127.0.0.1:{port}", "this test")


@pytest.fixture
def fake_ssh(tmp_path, monkeypatch):
    """A program called ssh that does on this machine what it is asked to do on another."""
    if shutil.which("docker") is None:
        pytest.skip("the docker command is not installed")
    program = tmp_path / "ssh"
    program.write_text(
        "#!/bin/bash\n"
        'while [ "$1" != docker ]; do shift; done\n'
        f"unset DOCKER_HOST; export DOCKER_API_VERSION=1.41\nexec {shutil.which('docker')} "
        '"${@:2}"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    if not Path(DEFAULT_SOCKET).exists():
        pytest.skip("the docker command's usual engine is not here")
    return parse_endpoint("ssh://somebody@elsewhere", "this test")


async def use(endpoint: Endpoint, image: str, run: str, proofs) -> None:
    engine = Engine(endpoint)
    runner = DockerRunner(engine, image=image, proofs=proofs)
    try:
        probe = await runner.probe()
        assert probe.ok, probe.reason
        assert probe.facts["remote"] == "yes"
        session = await runner.open(SessionSpec(run=run, image=image, limits=SMALL))
        outcome = await session.run(Pipeline((Stage(("echo", "hello")),)))
        assert outcome.stdout.text() == "hello\n"
        await session.close()
    finally:
        await runner.close()


async def test_a_session_over_tcp(forwarded, machine_image, run, ours, proofs):
    await use(forwarded, machine_image, run, proofs)
    assert ours() == {}


async def test_a_session_over_ssh(fake_ssh, machine_image, run, ours, proofs):
    await use(fake_ssh, machine_image, run, proofs)
    assert ours() == {}


async def test_a_remote_engine_cannot_work_in_place(forwarded, machine_image, proofs, tmp_path):
    runner = DockerRunner(Engine(forwarded), image=machine_image, proofs=proofs)
    with pytest.raises(WorkspaceError, match="another machine") as caught:
        await runner.open(SessionSpec(run="r", image=machine_image, in_place=tmp_path))
    assert "leave --in-place out" in str(caught.value)
    await runner.close()


async def test_an_engine_that_is_not_there_is_unavailable(machine_image, proofs):
    runner = DockerRunner(Engine(Endpoint("tcp", "127.0.0.1:9", "this test")), proofs=proofs)
    with pytest.raises(UnavailableError, match="connection refused"):
        await runner.open(SessionSpec(run="r", image=machine_image))
    await runner.close()
