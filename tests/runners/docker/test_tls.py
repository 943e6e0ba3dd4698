"""An engine behind TLS: the certificates on both sides are checked, and sessions work."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from policies import Pipeline, Stage
from runners.contract import SessionSpec
from runners.docker import DockerRunner
from runners.docker.endpoint import Endpoint, Tls
from runners.docker.engine import Engine
from tests.runners.docker.conftest import SMALL
from tests.runners.docker.forward import forwarded_port

pytestmark = [
    pytest.mark.docker,
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
async def secured(tmp_path):
    certificates(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=tmp_path / "ca.pem")
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    async with forwarded_port(context) as port:
        yield Endpoint("tcp", f"127.0.0.1:{port}", "this test", Tls(tmp_path, verify=True))


async def test_a_session_over_tls(secured, machine_image, run, ours, proofs):
    runner = DockerRunner(Engine(secured), image=machine_image, proofs=proofs)
    try:
        probe = await runner.probe()
        assert probe.ok, probe.reason
        session = await runner.open(SessionSpec(run=run, image=machine_image, limits=SMALL))
        outcome = await session.run(Pipeline((Stage(("echo", "hello")),)))
        assert outcome.stdout.text() == "hello\n"
        await session.close()
    finally:
        await runner.close()


@pytest.mark.slow  # the handshake waits for its deadline
async def test_an_engine_whose_certificate_is_not_known_is_not_used(
    secured, machine_image, tmp_path_factory
):
    other = tmp_path_factory.mktemp("other")
    certificates(other)
    endpoint = Endpoint("tcp", secured.address, "this test", Tls(other, verify=True))
    runner = DockerRunner(Engine(endpoint), image=machine_image)
    probe = await runner.probe()
    await runner.close()
    assert not probe.ok
    assert "certificate" in probe.reason.lower()
