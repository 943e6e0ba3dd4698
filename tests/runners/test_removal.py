"""Removing what programs left, however odd."""

from __future__ import annotations

import os
from pathlib import Path

from runners.removal import remove_folder


def test_a_folder_that_is_not_there_is_fine(tmp_path: Path) -> None:
    remove_folder(tmp_path / "none")


def test_files_links_fifos_and_folders_go(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "a/b/c").mkdir(parents=True)
    (folder / "a/file").write_text("x")
    (folder / "0").mkdir()
    (folder / "link").symlink_to(tmp_path)
    os.mkfifo(folder / "a/fifo")
    remove_folder(folder)
    assert list(tmp_path.iterdir()) == []


def test_what_a_link_points_to_stays(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(kept)
    remove_folder(folder)
    assert (kept / "file").read_text() == "x"


def test_fifteen_hundred_levels_are_no_deeper_than_one(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    remove_folder(folder)
    assert not folder.exists()


def test_a_closed_folder_is_opened_first(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "closed/below").mkdir(parents=True)
    (folder / "closed/below").chmod(0)
    (folder / "closed").chmod(0)
    remove_folder(folder)
    assert not folder.exists()
