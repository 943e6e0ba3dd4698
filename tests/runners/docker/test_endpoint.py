"""The engine that the docker command would talk to is the one that we talk to."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from runners.docker.endpoint import Endpoint, Tls, find_endpoint, parse_endpoint
from runners.errors import UnavailableError


def write_context(home: Path, name: str, host: str, *, tls: bool = False) -> None:
    key = hashlib.sha256(name.encode()).hexdigest()
    meta = home / ".docker/contexts/meta" / key
    meta.mkdir(parents=True)
    endpoints = {"docker": {"Host": host, "SkipTLSVerify": False}}
    (meta / "meta.json").write_text(json.dumps({"Name": name, "Endpoints": endpoints}))
    if tls:
        (home / ".docker/contexts/tls" / key / "docker").mkdir(parents=True)


def test_without_settings_it_is_the_usual_socket(tmp_path):
    assert find_endpoint({}, tmp_path) == Endpoint("unix", "/var/run/docker.sock")


@pytest.mark.parametrize(
    ("text", "kind", "address"),
    [
        ("unix:///run/x.sock", "unix", "/run/x.sock"),
        ("tcp://10.0.0.1:2375", "tcp", "10.0.0.1:2375"),
        ("tcp://host:1/", "tcp", "host:1"),
        ("host:2375", "tcp", "host:2375"),
        ("ssh://me@host:2222", "ssh", "me@host:2222"),
    ],
)
def test_docker_host_names_it(text, kind, address, tmp_path):
    found = find_endpoint({"DOCKER_HOST": text}, tmp_path)
    assert found == Endpoint(kind, address, "DOCKER_HOST")


@pytest.mark.parametrize(
    "text", ["ftp://x", "unix://", "tcp://", "tcp://a/b", "ssh://-oProxyCommand=x", "ssh://h/path"]
)
def test_an_address_that_is_not_understood_is_refused(text):
    with pytest.raises(UnavailableError, match="not understood"):
        parse_endpoint(text, "DOCKER_HOST")


def test_certificates_come_from_the_environment(tmp_path):
    environ = {"DOCKER_HOST": "tcp://h:2376", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": "/c"}
    assert find_endpoint(environ, tmp_path).tls == Tls(Path("/c"), verify=True)


def test_the_default_port_depends_on_tls():
    assert Endpoint("tcp", "h").host_port == ("h", 2375)
    assert Endpoint("tcp", "h", tls=Tls(Path("/c"), verify=True)).host_port == ("h", 2376)


def test_a_context_is_read_from_its_files(tmp_path):
    write_context(tmp_path, "far", "ssh://me@far", tls=False)
    found = find_endpoint({"DOCKER_CONTEXT": "far"}, tmp_path)
    assert found == Endpoint("ssh", "me@far", "the context 'far'")


def test_the_current_context_of_the_configuration_is_used(tmp_path):
    write_context(tmp_path, "near", "tcp://near:2376", tls=True)
    (tmp_path / ".docker/config.json").write_text('{"currentContext": "near"}')
    found = find_endpoint({}, tmp_path)
    assert (found.url, found.tls is not None) == ("tcp://near:2376", True)


def test_docker_host_goes_before_a_context(tmp_path):
    environ = {"DOCKER_HOST": "unix:///a", "DOCKER_CONTEXT": "missing"}
    assert find_endpoint(environ, tmp_path).address == "/a"


def test_a_context_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(UnavailableError, match="no Docker context 'gone'"):
        find_endpoint({"DOCKER_CONTEXT": "gone"}, tmp_path)


@pytest.mark.parametrize("meta", ["", "[]", '{"Endpoints": {}}', '{"Endpoints": {"docker": 1}}'])
def test_a_damaged_context_is_named(meta, tmp_path):
    write_context(tmp_path, "bad", "x")
    next((tmp_path / ".docker/contexts/meta").glob("*/meta.json")).write_text(meta)
    with pytest.raises(UnavailableError, match=r"the context|the Docker context"):
        find_endpoint({"DOCKER_CONTEXT": "bad"}, tmp_path)


@pytest.mark.parametrize("config", ["", "[]", '{"currentContext": 1}', "{}"])
def test_a_configuration_without_context_means_the_usual_socket(config, tmp_path):
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker/config.json").write_text(config)
    assert find_endpoint({}, tmp_path) == Endpoint("unix", "/var/run/docker.sock")


def test_only_a_path_socket_sees_this_machines_files():
    assert Endpoint("unix", "/s").local
    assert not Endpoint("tcp", "h:1").local
