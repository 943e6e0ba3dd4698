"""Whatever keeps us from the engine is said in one sentence, with the cure."""

from __future__ import annotations

import contextlib
import os
import socket
import threading

import pytest

from runners.docker import DockerRunner
from runners.docker.endpoint import Endpoint
from runners.docker.engine import Engine
from runners.docker.fault import EngineFaultError, NoEngineError


async def probe_of(endpoint, tmp_path):
    runner = DockerRunner(Engine(endpoint))
    try:
        return await runner.probe()
    finally:
        await runner.close()


@pytest.fixture
def short(tmp_path_factory):
    """A folder whose path is short enough for a socket."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="sk") as folder:
        yield folder


async def test_a_missing_socket_is_said_with_what_named_it(tmp_path):
    probe = await probe_of(Endpoint("unix", str(tmp_path / "no.sock"), "DOCKER_HOST"), tmp_path)
    assert not probe.ok
    assert probe.reason == (
        f"there is no Docker engine: DOCKER_HOST is {tmp_path}/no.sock, which does not exist"
    )
    assert probe.cure == "start that engine, or correct DOCKER_HOST"


async def test_a_socket_where_nobody_listens_is_said(short, tmp_path):
    path = f"{short}/s"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(path)
    probe = await probe_of(Endpoint("unix", path), tmp_path)
    assert (probe.ok, probe.cure) == (False, "start the Docker engine")
    assert "connection refused" in probe.reason


@pytest.mark.skipif(os.geteuid() == 0, reason="root may use every socket")
async def test_a_socket_without_permission_is_said(short, tmp_path):
    path = f"{short}/s"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(path)
        sock.listen()
        os.chmod(path, 0)
        probe = await probe_of(Endpoint("unix", path), tmp_path)
    assert (probe.ok, "group docker" in probe.cure) == (False, True)


def answer(path: str, response: bytes) -> threading.Thread:
    """Give this answer to every request that comes to a socket."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()

    def serve() -> None:
        with server:
            server.settimeout(5)
            try:
                while True:
                    connection, _ = server.accept()
                    with connection, contextlib.suppress(ConnectionError):
                        connection.recv(1 << 16)
                        connection.sendall(response)
            except OSError:
                return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread


def response(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body


async def failure(short: str, raw: bytes) -> Exception:
    answer(f"{short}/s", raw)
    engine = Engine(Endpoint("unix", f"{short}/s"))
    try:
        with pytest.raises(Exception) as caught:  # noqa: PT011
            await engine.info()
    finally:
        await engine.close()
    return caught.value


async def test_an_engine_that_speaks_another_version_is_said(short):
    body = b'{"message": "client version 1.41 is too old. Minimum supported API version is 1.44"}'
    error = await failure(short, response("400 Bad Request", body))
    assert isinstance(error, NoEngineError)
    assert "Minimum supported API version is 1.44" in str(error)


async def test_an_overloaded_engine_may_be_asked_again(short):
    error = await failure(short, response("503 Service Unavailable", b'{"message": "busy"}'))
    assert isinstance(error, EngineFaultError)
    assert error.transient


async def test_an_engine_that_hangs_up_may_be_asked_again(short):
    error = await failure(short, b"")
    assert isinstance(error, EngineFaultError)
    assert error.transient


async def test_something_else_that_answers_is_no_engine(short):
    error = await failure(short, b"220 mail ready\r\n")
    assert isinstance(error, (NoEngineError, EngineFaultError))


@pytest.mark.parametrize("body", [b"{}", b"[]", b'"hello"', b"null"])
async def test_json_of_something_else_is_no_engine(short, body):
    error = await failure(short, response("200 OK", body))
    assert isinstance(error, NoEngineError)
    assert "it names no ApiVersion" in error.reason
