"""The doctor's conformance suite under gVisor: the gaps of Debian's old release and no others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from runners.conformance import CHECKS
from runners.conformance.gap import GAPS
from tests.runners.docker.private_engine import PrivateEngine

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start an engine"),
    pytest.mark.skipif(shutil.which("dockerd") is None, reason="dockerd is not installed"),
    pytest.mark.skipif(shutil.which("runsc") is None, reason="runsc is not installed"),
]


@pytest.fixture
def private() -> Iterator[PrivateEngine]:
    argv = [shutil.which("runsc") or "", "--platform=ptrace", "--network=none"]
    engine = PrivateEngine(runtimes={"runsc": argv})
    try:
        engine.start()
        yield engine
    finally:
        engine.remove()


def stockade(engine: PrivateEngine, *words: str) -> subprocess.CompletedProcess[str]:
    code = "from harness.cli import main; main()"
    environ = {**os.environ, "DOCKER_HOST": engine.endpoint.url}
    argv = [sys.executable, "-c", code, *words]
    return subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.timeout(1200)
def test_under_gvisor_all_checks_pass_but_the_listed_gaps(private: PrivateEngine) -> None:
    built = stockade(private, "images", "build", "python")
    assert built.returncode == 0, built.stderr
    words = ("--conformance", "--runner", "docker", "--runtime", "runsc", "--json")
    done = stockade(private, "doctor", *words)
    (box,) = json.loads(done.stdout)["boxes"]
    gaps = GAPS["docker", "gvisor"]
    statuses = {check.name: "gap" if check.name in gaps else "passed" for check in CHECKS}
    assert {item["name"]: item["status"] for item in box["items"]} == statuses, done.stderr
    assert done.returncode == 0
