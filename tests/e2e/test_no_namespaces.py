"""A plain user where no user namespace can be made and there is no engine."""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

USER = 1879053002  # no account, no session
PROJECT = Path(__file__).parents[2]
INSIDE = """
echo 0 > /proc/sys/user/max_user_namespaces
exec setpriv --ambient-caps -all --inh-caps -all "$@"
"""
REFUSAL = (
    "no box of level namespace works here (docker: there is no Docker engine: DOCKER_HOST is "
    "/none.sock, which does not exist; bubblewrap: user namespaces are switched off "
    "(user.max_user_namespaces is 0); process: its level is process here): start that engine, or "
    "correct DOCKER_HOST, or accept less with --accept-isolation process"
)


class Poor:
    """The command line as such a user starts it."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.environ = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": home,
            "TMPDIR": home,
            "DOCKER_HOST": "unix:///none.sock",
            "PYTHONPATH": os.pathsep.join([str(PROJECT), *site.getsitepackages()]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        code = "from harness.cli import main; main()"
        return subprocess.run(
            ["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", INSIDE, "sh",
             "python3", "-c", code, *words],
            user=USER, group=USER, extra_groups=[], env=self.environ, cwd=self.home,
            capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture
def poor() -> Iterator[Poor]:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    python = shutil.which("python3", path="/usr/bin")
    wanted = "{}.{}".format(*sys.version_info)
    if python is None or wanted not in os.path.realpath(python):
        pytest.skip(f"no Python {wanted} that a plain user can start")
    with tempfile.TemporaryDirectory() as home:
        os.chown(home, USER, USER)
        made = Poor(home)
        tried = made("--version")
        if "unshare" in tried.stderr or "setpriv" in tried.stderr:
            pytest.skip(f"no user namespace to take the others away in: {tried.stderr.strip()}")
        if "Permission" in tried.stderr or "No module" in tried.stderr:
            pytest.skip("the project's own files are out of a plain user's reach")
        yield made


def test_a_run_is_refused_in_one_sentence_with_the_cure(poor: Poor) -> None:
    done = poor("run", "--instruction", "x", "--agent", "nop", "--policy", "python-dev", "--json")
    result = json.loads(done.stdout)
    assert (done.returncode, result["status"]) == (3, "infrastructure"), done.stderr
    assert result["error"] == REFUSAL


def test_the_doctor_says_why_in_a_sentence_each(poor: Poor) -> None:
    done = poor("doctor", "--json")
    boxes = {
        box["name"]: (box["status"], box["reason"]) for box in json.loads(done.stdout)["boxes"]
    }
    assert boxes["docker"] == (
        "failed",
        "there is no Docker engine: DOCKER_HOST is /none.sock, which does not exist",
    )
    assert boxes["bubblewrap"] == (
        "failed",
        "user namespaces are switched off (user.max_user_namespaces is 0)",
    )
    status, reason = boxes["process"]
    assert status == "passed"
    assert "no namespaces, so programs run as your own user" in reason


def test_who_accepts_the_plain_process_level_gets_it(poor: Poor) -> None:
    words = ("--accept-isolation", "process", "--runner", "process")
    done = poor("exec", "--policy", "python-dev", *words, "--json", "--", "python3", "-c", "1")
    record = json.loads(done.stdout)
    assert (done.returncode, record["isolation"]) == (0, "process"), done.stderr
