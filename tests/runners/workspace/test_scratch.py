"""Folders for copies are gone at the end, and swept after a death."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from runners import Owner
from runners.workspace import scratch_folder, sweep_folders

DIES = """
import os, signal, sys, tempfile
tempfile.tempdir = sys.argv[1]
from runners.workspace import scratch_folder
with scratch_folder("out") as folder:
    (folder / "copy.tar").write_text("a copy")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_folder_lives_as_long_as_it_is_used(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with scratch_folder("in") as folder:
        assert (sweep_folders(), folder.is_dir()) == ([], True)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", DIES, str(tmp_path)], check=False)
    (left,) = tmp_path.iterdir()
    assert (left / "copy.tar").read_text() == "a copy"
    assert sweep_folders(tmp_path) == [f"folder {left.name}"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "owner",
    [
        pytest.param(str(Owner.me()), id="this process"),
        "o1:other:other:1:1:1",
        "o1:x",
        "",
        "o1:../../x:1:1:1:1",
    ],
)
def test_what_is_not_surely_abandoned_stays(tmp_path: Path, owner: str) -> None:
    (tmp_path / f"stockade-out-{owner.replace('/', '_')}-abcdefgh").mkdir()
    assert (sweep_folders(tmp_path), len(list(tmp_path.iterdir()))) == ([], 1)


def test_a_link_of_such_a_name_is_not_followed(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", DIES, str(tmp_path)], check=False)
    (left,) = tmp_path.iterdir()
    real = left.rename(tmp_path / "mine")
    left.symlink_to(real)
    assert (sweep_folders(tmp_path), (real / "copy.tar").exists()) == ([], True)
