"""Hostile tasks: what is kept of a box is written nowhere but in its own folder of the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import SOLUTION, TaskFolder

PUBLISH = 'out="$STOCKADE_LOGS/artifacts"; mkdir -p "$out"\n'


def keep(stockade: Any, task: TaskFolder, box: str, artifacts: str, solve: str) -> Any:
    """Run a task that wants something kept, with what its solution does besides."""
    base = (task.path / "task.toml").read_text()
    task.write("task.toml", f"artifacts = [{artifacts}]\n{base}")
    task.write("solution/solve.sh", SOLUTION + solve)
    out = stockade.root / "project" / "out"
    return stockade.run(task.path, "--runner", box, "--agent", "oracle", "--out", out)


def rows(stockade: Any) -> dict[str, str]:
    text = (stockade.root / "project/out/kept/manifest.json").read_text()
    return {row["source"]: row["status"] for row in json.loads(text)}


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_what_is_published_is_not_written_through_a_link_that_was_kept(
    stockade: Any, task: TaskFolder, each_box: str
) -> None:
    done = keep(
        stockade,
        task,
        each_box,
        '{source = "l", destination = "logs"}',
        "mkdir l; ln -s ../../.. l/artifacts\n"
        + PUBLISH
        + 'mkdir -p "$out/.git/hooks"; echo x > "$out/.git/hooks/pre-commit"\n',
    )
    assert done.code == 0, done.err
    assert files(stockade.root / "project/out/kept") == ["logs", "manifest.json"]
    assert [path.name for path in (stockade.root / "project").iterdir()] == ["out"]
    assert rows(stockade) == {"l": "kept", "/logs/artifacts": "its place is taken"}
    assert "not kept: l/artifacts (a link that leads out)" in done.err


@pytest.mark.parametrize("climb", ["..", "../.."])
def test_the_files_of_the_run_are_not_replaced_by_what_is_kept(
    stockade: Any, task: TaskFolder, quick_box: str, climb: str
) -> None:
    solve = f"mkdir l; ln -s {climb} l/artifacts\n{PUBLISH}echo planted > $out/options.json\n"
    done = keep(stockade, task, quick_box, '{source = "l", destination = "logs"}', solve)
    assert done.code == 0, done.err
    assert "planted" not in (stockade.root / "project/out/options.json").read_text()


def test_the_list_of_what_is_kept_is_not_written_through_a_link(
    stockade: Any, task: TaskFolder, quick_box: str
) -> None:
    solve = 'ln -s ../events.jsonl manifest.json; echo x > "$STOCKADE_LOGS/.kept/events.jsonl"\n'
    done = keep(
        stockade, task, quick_box, '{source = "manifest.json", destination = "./manifest.json"}',
        'mkdir -p "$STOCKADE_LOGS/.kept"\n' + solve,
    )  # fmt: skip
    assert done.code == 2
    assert "is the list of what was kept" in done.err


def test_a_link_in_the_tests_of_a_task_is_not_written_through(
    stockade: Any, task: TaskFolder, quick_box: str
) -> None:
    aim = stockade.root / "aim"
    aim.mkdir()
    head = (task.path / "task.toml").read_text().partition("[metadata.stockade.verify]")[0]
    task.write("task.toml", head + '[[steps]]\nname = "one"\n')
    (task.path / "instruction.md").unlink()
    task.write("steps/one/instruction.md", "Nothing.\n")
    task.write("tests/test.sh", 'echo 1 > "$STOCKADE_LOGS/verifier/reward.txt"\n')
    (task.path / "tests" / "l").symlink_to(aim)
    (task.path / "tests" / "f").symlink_to(aim / "f")
    task.write("steps/one/tests/l/planted", "x")
    task.write("steps/one/tests/f", "x")
    done = stockade.run(task.path, "--runner", quick_box, "--agent", "nop")
    assert (done.code, files(aim)) == (0, []), done.err
