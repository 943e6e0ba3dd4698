"""An engine behind TLS: the certificates on both sides are checked, and sessions work."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from policies import Pipeline, Stage
from runners.contract import SessionSpec
from runners.docker import DockerRunner
from runners.docker.endpoint import Endpoint, Tls
from runners.docker.engine import Engine
from tests.runners.docker.conftest import SMALL
from tests.runners.docker.private_engine import PrivateEngine
from tests.runners.docker.test_private_engine import load_image

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start an engine"),
    pytest.mark.skipif(shutil.which("dockerd") is None, reason="dockerd is not installed"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed"),
]


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def certificates(folder: Path) -> None:
    """An authority, and one certificate that serves both as the engine's and as the client's."""
    name = ["-subj", "/CN=test", "-days", "2", "-nodes", "-newkey", "rsa:2048"]
    openssl(folder, "req", "-x509", *name, "-keyout", "ca-key.pem", "-out", "ca.pem")
    openssl(folder, "req", *name[:2], *name[4:], "-keyout", "key.pem", "-out", "request.pem")
    (folder / "extra").write_text(
        "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n"
    )
    openssl(
        folder, "x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca-key.pem",
        "-CAcreateserial", "-days", "2", "-extfile", "extra", "-out", "cert.pem",
    )  # fmt: skip


@pytest.fixture
def secured(tmp_path):
    certificates(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    engine = PrivateEngine(
        options=[
            "-H", f"tcp://127.0.0.1:{port}", "--tlsverify", "--tlscacert", f"{tmp_path}/ca.pem",
            "--tlscert", f"{tmp_path}/cert.pem", "--tlskey", f"{tmp_path}/key.pem",
        ]
    )  # fmt: skip
    try:
        engine.start()
        load_image(engine)
        yield Endpoint("tcp", f"127.0.0.1:{port}", "this test", Tls(tmp_path, verify=True))
    finally:
        engine.remove()


async def test_a_session_over_tls(secured, run, proofs):
    runner = DockerRunner(Engine(secured), image="machine:test", proofs=proofs)
    try:
        probe = await runner.probe()
        assert probe.ok, probe.reason
        session = await runner.open(SessionSpec(run=run, image="machine:test", limits=SMALL))
        outcome = await session.run(Pipeline((Stage(("echo", "hello")),)))
        assert outcome.stdout.text() == "hello\n"
        await session.close()
    finally:
        await runner.close()


async def test_an_engine_whose_certificate_is_not_known_is_not_used(secured, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    certificates(other)
    endpoint = Endpoint("tcp", secured.address, "this test", Tls(other, verify=True))
    runner = DockerRunner(Engine(endpoint), image="machine:test")
    probe = await runner.probe()
    await runner.close()
    assert not probe.ok
    assert "certificate" in probe.reason.lower()
