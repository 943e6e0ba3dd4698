"""Which boxes this machine has: missing ones skip with a printed reason, required ones fail."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache

import pytest

BOXES = ("docker", "bubblewrap", "browser")


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
    for box in BOXES:
        if item.get_closest_marker(box) is None:
            continue
        reason = missing(box)
        if reason and box in required():
            pytest.fail(f"STOCKADE_REQUIRE names {box}, but {reason}", pytrace=False)
        if reason:
            pytest.skip(reason)
