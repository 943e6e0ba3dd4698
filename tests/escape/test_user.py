"""The same attacks where the harness has no root, no cgroup and no uid to give away."""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

USER = 1879053001  # no account, no session
PROJECT = Path(__file__).parents[2]


def attacks(box: str, build: Callable[[str], bytes]) -> dict[str, str]:
    """What came of each attack in a box of such a user."""
    if os.geteuid() != 0:
        pytest.skip("this test run is a plain user's already")
    python = shutil.which("python3", path="/usr/bin")
    wanted = "{}.{}".format(*sys.version_info)
    version = "import sys; print('{}.{}'.format(*sys.version_info))"
    if (
        python is None
        or subprocess.check_output([python, "-c", version], text=True) != wanted + "\n"
    ):
        pytest.skip(f"no Python {wanted} that a plain user can start")
    path = os.pathsep.join([str(PROJECT), *site.getsitepackages()])
    with tempfile.TemporaryDirectory() as home:
        for name in ("doors", "starve", "ring", "memory"):
            Path(home, name).write_bytes(build(name))
        Path(home).chmod(0o755)
        os.chown(home, USER, USER)
        done = subprocess.run(
            [python, str(Path(__file__).with_name("user_attacks.py")), box, home],
            user=USER,
            group=USER,
            extra_groups=[],
            env={"PYTHONPATH": path, "HOME": home, "TMPDIR": home, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            cwd="/",
            check=False,
        )
    if any(text in done.stderr for text in OUT_OF_REACH):
        pytest.skip("the project's own files are out of a plain user's reach")
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    if "missing" in found:
        pytest.skip(f"{box}: {found['missing']}")
    return found


OUT_OF_REACH = ("PermissionError", "Permission denied", "No module named")

NAMESPACES = {
    "doors": "exited",
    "starve": "timed_out",
    "ring": "exited",
    "bomb": "timed_out",
    "memfd": "memory_mib",
    "shared": "memory_mib",
    "sysv": "memory_mib",
    "semaphores": "memory_mib",
    "after": "exited",
}
PLAIN = {name: NAMESPACES[name] for name in NAMESPACES if name != "starve"} | {
    "bomb": "processes",
    "sysv": "exited",  # refused: they would outlive the box
    "semaphores": "exited",
}


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_a_plain_users_bubblewrap_holds(build: Callable[[str], bytes]) -> None:
    assert attacks("bubblewrap", build) == NAMESPACES | {"inodes": "disk_mib"}


@pytest.mark.slow
def test_a_plain_users_process_box_holds(build: Callable[[str], bytes]) -> None:
    assert attacks("process", build) == NAMESPACES


@pytest.mark.slow
def test_landlock_alone_holds_a_plain_users_programs(build: Callable[[str], bytes]) -> None:
    found = attacks("plain-process", build)
    assert found.pop("starve") in ("processes", "timed_out")  # whichever is seen first
    assert found == PLAIN
