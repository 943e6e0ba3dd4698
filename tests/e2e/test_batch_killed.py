"""A batch of forty tasks that is killed again and again comes to what an undisturbed one does."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import STRONG, TASK, TaskFolder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TASKS = 40
KILLS = 8
CHECK = '["grep", "-q", "a + b", "calc.py"]'


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """Forty tasks; every tenth is not solved by its solution."""
    folder = tmp_path / "tasks"
    verify = STRONG.replace('["python3", "-m", "pytest", "-q", "tests"]', CHECK)
    verify = verify[: verify.index("tests =")]
    for number in range(TASKS):
        task = TaskFolder(folder / f"t{number:02}")
        task.write("task.toml", TASK + verify)
        if number % 10 == 9:
            task.write("solution/solve.sh", "#!/bin/bash\ntrue\n")
    return folder


def finished(out: Path) -> dict[str, int]:
    """The results that are there, each with the time of its file."""
    found = out.glob("runs/*/try-*/result.json")
    return {str(path.relative_to(out)): path.stat().st_mtime_ns for path in found}


def told(summary: dict[str, Any]) -> dict[str, Any]:
    """A summary without what no two batches share: times, names of runs, tries."""
    own = {"seconds", "spent", "run", "folder", "tries", "started", "ended"}

    def kept(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: kept(one) for key, one in value.items() if key not in own}
        return [kept(one) for one in value] if isinstance(value, list) else value

    return kept(summary)


def test_a_batch_that_is_killed_at_random_moments_comes_to_the_same(
    stockade: Any, tasks: Path, tmp_path: Path, quick_box: str
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    moments = random.Random(seed)
    words = ("batch", tasks, "--policy", stockade.policy, "--runner", quick_box,
             "--agent", "oracle", "-j", "2", "--json")  # fmt: skip
    undisturbed = stockade(*words, "--out", tmp_path / "undisturbed")
    out = tmp_path / "killed"
    again, kills = [], 0
    for number in range(KILLS):
        before = finished(out)
        process = stockade.start(*words, "--out", out)
        # Half of the kills come early, the others after it has got on.
        while number % 2 and len(finished(out)) == len(before) and process.poll() is None:
            time.sleep(0.02)
        try:
            process.wait(moments.uniform(0.2, 2))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
        after = finished(out)
        again += [name for name, at in before.items() if after.get(name) != at]
    before = finished(out)
    last = stockade(*words, "--out", out)
    after = finished(out)
    again += [name for name, at in before.items() if after.get(name) != at]
    first, second = (json.loads(done.out) for done in (undisturbed, last))
    assert (again, last.code) == ([], undisturbed.code), (seed, last.err[-2000:])
    assert (told(second), kills > 0) == (told(first), True), (seed, last.err[-2000:])
    assert (first["passed"], first["total"]) == (TASKS - TASKS // 10, TASKS)
    left = [path for path in out.glob("runs/*/try-*/scratch") if path.exists()]
    assert left == []
