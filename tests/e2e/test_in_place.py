from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import TaskFolder

SCRIPT = [
    [("edit_file", {"path": "calc.py", "old": "a - b", "new": "a + b"})],
    [("finish", {})],
]


@pytest.fixture
def task(tmp_path_factory) -> Iterator[TaskFolder]:
    """The small task, in a folder that other users can reach."""
    with tempfile.TemporaryDirectory(prefix="in-place-") as root:
        Path(root).chmod(0o755)
        yield TaskFolder(Path(root) / "task")


def open_to_its_owner(task: TaskFolder) -> None:
    """Give the workspace to somebody who is not root."""
    if os.geteuid() == 0:
        for path in (task.workspace, *task.workspace.rglob("*")):
            os.chown(path, 1234, 1234)


@pytest.mark.bubblewrap
def test_work_in_place_changes_the_folder_itself_and_still_gives_a_patch(stockade, task) -> None:
    open_to_its_owner(task)
    done = stockade(
        "run", "--instruction", "mend it", "--workspace", task.workspace, "--in-place",
        "--policy", stockade.policy, "--runner", "bubblewrap", "--model", task.script(*SCRIPT),
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "a + b" in (task.workspace / "calc.py").read_text()
    assert b"+    return a + b" in (done.folder / "patch.diff").read_bytes()


@pytest.mark.bubblewrap
def test_a_folder_of_roots_is_not_worked_on_in_place(stockade, task) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root owns root's folders")
    done = stockade(
        "run", "--instruction", "x", "--workspace", task.workspace, "--in-place",
        "--policy", stockade.policy, "--runner", "bubblewrap", "--agent", "nop",
    )  # fmt: skip
    assert done.code in {2, 3}, done.err
    assert "root" in done.err
