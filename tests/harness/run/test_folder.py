from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.run.folder import RunFolder, find_run, list_runs, new_id


def recorded(root: Path, run: str) -> RunFolder:
    """A run folder with a first record."""
    folder = RunFolder.create(run, root / run)
    folder.events.write_text(json.dumps({"seq": 0, "type": "run/start", "run": run}) + "\n")
    return folder


def test_a_run_folder_is_private(tmp_path: Path) -> None:
    folder = RunFolder.create("a", tmp_path / "a")
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700


def test_a_folder_that_holds_something_is_not_taken_for_a_run(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(ConfigError, match="not empty"):
        RunFolder.create("a", tmp_path)


def test_runs_are_found_by_id_by_path_and_as_the_latest(tmp_path: Path) -> None:
    recorded(tmp_path, "20260101-000000-aaaaaa")
    last = recorded(tmp_path, "20260102-000000-bbbbbb")
    found = [find_run(name, tmp_path).path for name in ("latest", last.path.name, str(last.path))]
    assert found == [last.path] * 3


def test_runs_are_listed_newest_first(tmp_path: Path) -> None:
    names = ["20260101-000000-aaaaaa", "20260103-000000-cccccc", "20260102-000000-bbbbbb"]
    for name in names:
        recorded(tmp_path, name)
    assert [run.id for run in list_runs(tmp_path)] == sorted(names, reverse=True)


def test_a_run_that_does_not_exist_is_the_operators_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no run 'nowhere'"):
        find_run("nowhere", tmp_path)


def test_no_run_at_all_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no run yet"):
        find_run("latest", tmp_path)


def test_ids_do_not_repeat() -> None:
    assert len({new_id() for _ in range(100)}) == 100


def test_a_run_without_a_result_has_none(tmp_path: Path) -> None:
    assert recorded(tmp_path, "a").read_result() is None
