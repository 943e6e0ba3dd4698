"""From recorded runs to a first policy: suggest, then coverage, on the examples themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from policies import Command, Decision, Recorded, load, read_records
from policies.authoring.hazard import errors_of, hazard_of

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TASKS = [path.parent for path in sorted(EXAMPLES.glob("*/task.toml"))]
LOOKING = [
    {"line": "ls -la && wc -l shop/order.py shop/shipping.py tests/test_order.py"},
    {"line": "grep -rn 'def ' shop | head -n 5"},
    {"argv": ["head", "-n", "20", "shop/order.py"]},
    {"argv": ["cut", "-c", "1-10", "shop/order.py"]},
    {"line": "cat shop/shipping.py | sort -u | uniq -c"},
    {"argv": ["stat", "-c", "%s", "shop/order.py"]},
]
pytestmark = [pytest.mark.slow, pytest.mark.bubblewrap, pytest.mark.timeout(900)]


def stockade(*argv: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    words = [str(Path(sys.executable).with_name("stockade")), *map(str, argv)]
    env = {**os.environ, "XDG_STATE_HOME": str(cwd / "state")}
    return subprocess.run(
        words, cwd=cwd, env=env, capture_output=True, text=True, timeout=300, check=False
    )


def looking(folder: Path) -> Path:
    """A script that only looks around in the demo's workspace."""
    replies = [{"calls": [{"name": "run_command", "arguments": words}]} for words in LOOKING]
    done = {"calls": [{"name": "finish", "arguments": {"answer": "seen"}}]}
    path = folder / "looking.json"
    path.write_text(json.dumps({"schema": 1, "replies": [*replies, done]}))
    return path


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The event logs of the examples' scripts, and of one that only looks."""
    folder = tmp_path_factory.mktemp("runs")
    fetched = [task for task in TASKS if (task / "environment" / "workspace").is_dir()]
    runs = [(task, task / "script.json") for task in fetched]
    runs.append((EXAMPLES / "demo", looking(folder)))
    found: list[Path] = []
    for number, (task, script) in enumerate(runs):
        out = folder / f"run-{number}"
        model = f"scripted:{script}"
        done = stockade(
            "run", task, "--runner", "bubblewrap", "--model", model, "--out", out, cwd=folder
        )
        assert done.returncode in (0, 1), done.stderr
        found.append(out / "events.jsonl")
    return found


def is_hazard(one: Recorded) -> bool:
    """Whether the hazard table speaks of the program as such."""
    known = hazard_of(one.argv[0])
    return known.interpreter or known.wrapper or known.runs_project or known.fetches


def test_the_suggested_policy_covers_what_ran_and_has_no_idle_line(logs, tmp_path):
    written = stockade("policy", "suggest", *logs, cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    path = tmp_path / "suggested.toml"
    path.write_text(written.stdout)
    policy = load(path)
    records = [one for log in logs for one in read_records(log.read_text().splitlines())]
    denied = [r.argv for r in records if policy.judge(Command(r.argv)).decision is Decision.DENY]
    assert [argv for argv in denied if not is_hazard(Recorded(argv))] == []
    assert not any(errors_of(e.line.line, runs_code=False) for e in policy.entries)
    argv = ("policy", "coverage", "--policy", path, "--rejudge", "--json", *logs)
    covered = json.loads(stockade(*argv, cwd=tmp_path).stdout)
    assert [line["text"] for line in covered["lines"] if line["count"] == 0] == []
    assert len(covered["lines"]) >= 8
    assert "# python3: it runs the code that it is given" in written.stdout
