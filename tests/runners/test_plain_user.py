"""The local boxes of a user who is not root, tried from a root's test run by really being one."""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

USER = 1879053000  # no account, no session
PROJECT = Path(__file__).parents[2]


def python() -> str:
    """An interpreter that such a user can start, with our dependencies' version."""
    wanted = "{}.{}".format(*sys.version_info)
    for path in (sys.executable, shutil.which("python3", path="/usr/bin") or ""):
        code = "import sys; print('{}.{}'.format(*sys.version_info))"
        try:
            done = subprocess.run(
                [path, "-I", "-c", code], user=USER, group=USER, extra_groups=[],
                capture_output=True, text=True, check=False, cwd="/",
            )  # fmt: skip
        except OSError:
            continue
        if done.stdout.strip() == wanted:
            return path
    return pytest.skip(f"no Python {wanted} that a plain user can start")


def as_plain_user(box: str, what: str) -> dict[str, object]:
    if os.geteuid() != 0:
        pytest.skip("this test run is a plain user's already")
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as ours:
        os.chown(home, USER, USER)
        # This checkout may lie where such a user cannot look; a copy does not.
        Path(ours).chmod(0o755)
        for package in ("policies", "runners", "sandbox_images"):
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(PROJECT / package, Path(ours) / package, ignore=ignore)
        script = shutil.copy(Path(__file__).with_name("plain_user.py"), ours)
        path = os.pathsep.join([ours, *site.getsitepackages()])
        done = subprocess.run(
            [python(), script, box, what],
            user=USER,
            group=USER,
            extra_groups=[],
            env={"PYTHONPATH": path, "HOME": home, "TMPDIR": home, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            cwd="/",
            check=False,
        )
    if "PermissionError" in done.stderr or "No module named" in done.stderr:
        pytest.skip("the project's own files are out of a plain user's reach")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if "missing" in found:
        pytest.skip(f"{box}: {found['missing']}")
    return found


@pytest.mark.bubblewrap
def test_bubblewrap_works_for_a_plain_user() -> None:
    expected = {"isolation": "namespace", "way": "", "said": ["1000", "here"]}
    assert as_plain_user("bubblewrap", "once") == expected


def test_the_process_box_makes_namespaces_for_a_plain_user() -> None:
    expected = {"isolation": "namespace", "way": "namespaces", "said": ["1000", "here"]}
    assert as_plain_user("process", "once") == expected


def test_without_namespaces_landlock_holds_a_plain_users_programs() -> None:
    expected = {"isolation": "process", "way": "landlock", "said": [str(USER), "here"]}
    assert as_plain_user("plain-process", "once") == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "box", [pytest.param("bubblewrap", marks=pytest.mark.bubblewrap), "process", "plain-process"]
)
def test_the_suite_passes_for_a_plain_user(box: str) -> None:
    assert as_plain_user(box, "conformance") == {}
