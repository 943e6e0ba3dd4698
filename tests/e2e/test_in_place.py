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


def run_in_place(stockade, task, box: str, code: str):
    """A run whose model lets Python run some code in the folder itself."""
    return stockade(
        "run", "--instruction", "x", "--workspace", task.workspace, "--in-place",
        "--policy", stockade.policy, "--runner", box,
        "--model", task.script([("run_command", {"argv": ["python3", "-c", code]})], SCRIPT[1]),
    )  # fmt: skip


PLANT = """
import os
for path in (".git/hooks/post-checkout", ".vscode/tasks.json", "sub/.git/config", ".GIT/config"):
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").write("planted")
    except OSError as error:
        print(path, error.strerror)
"""


def test_nothing_of_a_box_stays_at_a_protected_name(stockade, box, task) -> None:
    (task.workspace / ".git/hooks").mkdir(parents=True)
    open_to_its_owner(task)
    done = run_in_place(stockade, task, box, PLANT)
    assert done.code == 0, done.err
    mark = f"stockade-{done.result['run']}"
    names = sorted(str(p.relative_to(task.workspace)) for p in task.workspace.rglob("*"))
    assert [name for name in names if "git" in name.lower() or "vscode" in name] == sorted(
        [
            ".git",
            ".git/hooks",
            f".GIT.{mark}",
            f".GIT.{mark}/config",
            f".vscode.{mark}",
            f".vscode.{mark}/tasks.json",
            f"sub/.git.{mark}",
            f"sub/.git.{mark}/config",
        ]
    )
    assert f".vscode was made in the box; it is now .vscode.{mark}" in done.err


RAISE = """
import os
for name, mode in (("made", 0o4755), ("calc.py", 0o4644)):
    open(name, "a").close()
    try:
        os.chmod(name, mode)
    except PermissionError:
        print(name, "refused")
os.mkdir("shared")
os.chmod("shared", 0o2775)
os.rename("sub", "sub2")
"""


def test_no_bit_that_gives_away_the_owner_stays_and_what_moved_is_named(
    stockade, each_box, task
) -> None:
    (task.workspace / "sub/.git/hooks").mkdir(parents=True)
    open_to_its_owner(task)
    done = run_in_place(stockade, task, each_box, RAISE)
    assert done.code == 0, done.err
    modes = {path.name: path.stat().st_mode & 0o6000 for path in task.workspace.rglob("*")}
    assert {name for name, mode in modes.items() if mode} == set()
    assert {"made", "shared"} <= set(modes)
    assert "shared was made set-uid or set-gid in the box; it is no longer" in done.err
    assert "sub2/.git was moved in the box; it was sub/.git" in done.err
    assert sorted(p.name for p in (task.workspace / "sub2").iterdir()) == [".git"]


@pytest.mark.parametrize(
    ("flag", "place"), [("--patch", "a.diff"), ("--patch", "l/a.diff"), ("--out", "out")]
)
def test_nothing_of_ours_is_written_where_the_box_can_put_a_link(
    stockade, quick_box, task, flag, place
) -> None:
    (task.workspace / "l").symlink_to(stockade.root)
    done = stockade(
        "run", "--instruction", "x", "--workspace", task.workspace, "--in-place",
        "--policy", stockade.policy, "--runner", quick_box, "--agent", "nop",
        flag, task.workspace / place,
    )  # fmt: skip
    assert (done.code, "lies in the workspace, where the box can change it" in done.err) == (
        2,
        True,
    )


def test_a_link_at_a_protected_name_is_not_worked_on_in_place(stockade, quick_box, task) -> None:
    (task.workspace / "elsewhere").mkdir()
    (task.workspace / ".git").symlink_to("elsewhere")
    open_to_its_owner(task)
    done = stockade(
        "run", "--instruction", "x", "--workspace", task.workspace, "--in-place",
        "--policy", stockade.policy, "--runner", quick_box, "--agent", "nop",
    )  # fmt: skip
    assert ".git is to be protected in place, but leads over a link" in done.err
    assert done.code == 2
