"""How the log of a run is kept: what is hidden, sealed, rotated; and that no run goes unlogged."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

SECRET = "correct-horse-battery"
CALLS = [
    [("run_command", {"argv": ["python3", "-c", f"print('{SECRET}', 'tok_' + 'x' * 8)"]})],
    [("write_file", {"path": "big.txt", "content": "y" * 700_000})],
    [("write_file", {"path": "more.txt", "content": "z" * 700_000})],
    [("finish", {"answer": SECRET})],
]


def configure(stockade: Any, text: str) -> None:
    folder = stockade.root / "config" / "stockade"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(text)


@pytest.mark.bubblewrap
def test_a_run_is_kept_as_the_configuration_says(stockade: Any, task: Any) -> None:
    key = stockade.root / "key"
    key.write_text("0123456789abcdef" * 2)
    configure(
        stockade,
        f'[record]\nfsync = "step"\nrotate_mib = 1\nkey = "{key}"\n'
        'secrets = ["MY_TOKEN"]\npatterns = ["tok_x+"]\n',
    )
    model = task.script(*CALLS)
    words = ("--runner", "bubblewrap", "--policy", stockade.policy)
    done = stockade("run", task.path, "--model", model, *words, environ={"MY_TOKEN": SECRET})
    folder = done.folder
    holders = [p.name for p in folder.rglob("*") if p.is_file() and SECRET in p.read_text()]
    logs = sorted(p.name for p in folder.glob("events*.jsonl"))
    assert (holders, logs) == ([], ["events.000001.jsonl", "events.000002.jsonl", "events.jsonl"])
    assert "tok_x" not in "".join(p.read_text() for p in folder.glob("events*"))
    assert stockade("runs", "verify", folder, "--key", key).code == 0
    assert stockade("runs", "replay", folder, "--policy", stockade.policy).code == 0
    shown = json.loads(stockade("runs", "show", folder, "--json").out)
    assert (len(shown["events"]), shown["fault"]) == (shown["result"]["log"]["records"], "")


def test_a_command_is_sealed_by_the_flag(stockade: Any, quick_box: str) -> None:
    key = stockade.root / "key"
    key.write_text("0123456789abcdef" * 2)
    run = ("--runner", quick_box, "--key", key, "--", "python3", "-c", "pass")
    done = stockade.exec(*run)
    assert done.code == 0, done.err
    assert "anchored by its key" in stockade("runs", "verify", done.folder, "--key", key).out


def test_a_run_stops_when_the_disk_of_its_log_is_full(
    stockade: Any, task: Any, quick_box: str, small_disk: Path
) -> None:
    model = task.script(
        [("run_command", {"argv": ["python3", "-c", "print('x' * 400_000)"]})],
        [("write_file", {"path": "late.txt", "content": "not to be"})],
    )
    words = ("--runner", quick_box, "--out", small_disk / "run")
    done = stockade.run(task.path, "--model", model, *words)
    types = [
        json.loads(line)["type"]
        for line in (small_disk / "run" / "events.jsonl").read_text().splitlines()
    ]
    assert (done.code, "No space left on device" in done.err) == (3, True), done.err
    assert "Traceback" not in done.err
    assert (types.count("tool/call"), "run/end" in types) == (1, False)
    assert stockade("runs", "verify", small_disk / "run").code == 1


def test_a_run_stops_when_its_folder_is_removed(stockade: Any, task: Any, quick_box: str) -> None:
    model = task.script(
        [("run_command", {"argv": ["python3", "-c", "import time; time.sleep(3)"]})],
        [("run_command", {"argv": ["python3", "-c", "print(1)"]})],
    )
    words = ("--policy", stockade.policy, "--runner", quick_box, "--model", model)
    process = stockade.start("run", task.path, *words)
    until = time.monotonic() + 60
    found: list[Path] = []
    while time.monotonic() < until and not found:
        time.sleep(0.02)
        logs = stockade.state.glob("stockade/runs/*/events.jsonl")
        found = [log for log in logs if '"tool/verdict"' in log.read_text()]
    shutil.rmtree(found[0].parent)
    assert process.stderr is not None
    err = process.stderr.read()
    assert (process.wait(), b"the file was removed" in err) == (3, True), err
    assert b"Traceback" not in err
