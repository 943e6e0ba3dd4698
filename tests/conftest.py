"""Which boxes this machine has: missing ones skip with a printed reason, required ones fail."""

from __future__ import annotations

import ipaddress
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

BOXES = ("docker", "bubblewrap", "browser")


class LeftLoopbackError(Exception):
    """A test without the marker `network` connected to something off this machine."""


def keep_to_loopback() -> None:
    """From now on this process connects to loopback and path sockets only (an audit hook)."""
    if not hasattr(sys, "_stockade_loopback"):
        sys._stockade_loopback = [True]  # type: ignore[attr-defined]
        sys.addaudithook(_watch)
    sys._stockade_loopback[0] = True  # type: ignore[attr-defined]


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if event not in ("socket.connect", "socket.sendto") or not sys._stockade_loopback[0]:  # type: ignore[attr-defined]
        return
    address = args[-1]
    if not isinstance(address, tuple) or not isinstance(address[0], str):
        return  # a path socket, or one of another family
    try:
        inside = ipaddress.ip_address(address[0].partition("%")[0]).is_loopback
    except ValueError:
        inside = address[0] in ("localhost", "")
    if not inside:
        raise LeftLoopbackError(f"a test connects to {address[0]}, which is not loopback")


def required() -> frozenset[str]:
    """The boxes that STOCKADE_REQUIRE names: their absence is a failure, not a skip."""
    names = os.environ.get("STOCKADE_REQUIRE", "").replace(",", " ").split()
    return frozenset(names)


@cache
def missing(box: str) -> str:
    """Why a box cannot be used here, or "" when it can."""
    if box == "docker":
        return missing_docker()
    if box == "browser":
        return missing_browser()
    return missing_bubblewrap()


def missing_docker() -> str:
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env()
    except DockerException as error:
        return f"no Docker engine answers: {error}"
    try:
        client.ping()
    except DockerException as error:
        return f"no Docker engine answers: {error}"
    finally:
        client.close()
    return ""


def missing_browser() -> str:
    lacking = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    if lacking:
        return f"{lacking[0]} is not installed (apt-get install chromium chromium-driver)"
    return ""


def missing_bubblewrap() -> str:
    binary = shutil.which("bwrap")
    if binary is None:
        return "bubblewrap is not installed (apt-get install bubblewrap)"
    argv = [binary, "--unshare-user", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc"]
    done = subprocess.run([*argv, "true"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"bubblewrap cannot start: {done.stderr.strip()}"


def pytest_runtest_setup(item: pytest.Item) -> None:
    keep_to_loopback()
    sys._stockade_loopback[0] = item.get_closest_marker("network") is None  # type: ignore[attr-defined]
    for box in BOXES:
        if item.get_closest_marker(box) is None:
            continue
        reason = missing(box)
        if reason and box in required():
            pytest.fail(f"STOCKADE_REQUIRE names {box}, but {reason}", pytrace=False)
        if reason:
            pytest.skip(reason)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 200 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root mounts a file system of its own")
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this machine mounts no tmpfs")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)
