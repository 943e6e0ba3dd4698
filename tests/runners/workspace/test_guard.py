"""Protected names of a folder that is worked on in place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runners import WorkspaceError
from runners.workspace import Guard, PutAside


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_what_stands_at_protected_names_is_found_at_any_depth_outermost_first(
    tmp_path: Path,
) -> None:
    for path in (".git/hooks", "lib/.git/.svn", "a/.github/workflows", "a/.github/other"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "module").mkdir()
    (tmp_path / "module/.git").write_text("gitdir: ../.git/modules/module")
    guard = Guard.begin(tmp_path)
    assert guard.paths == (".git", "a/.github/workflows", "lib/.git", "module/.git")


def test_what_was_there_stays_where_it_is(tmp_path: Path) -> None:
    (tmp_path / ".git/hooks").mkdir(parents=True)
    guard = Guard.begin(tmp_path)
    assert guard.put_aside("later") == []
    assert names(tmp_path) == [".git", ".git/hooks"]


def test_what_is_made_at_a_protected_name_gets_another(tmp_path: Path) -> None:
    guard = Guard.begin(tmp_path)
    (tmp_path / "sub/.git").mkdir(parents=True)
    (tmp_path / ".vscode").symlink_to("sub")
    assert guard.put_aside("later") == [
        PutAside(".vscode", ".vscode.later"),
        PutAside("sub/.git", "sub/.git.later"),
    ]
    assert names(tmp_path) == [".vscode.later", "sub", "sub/.git.later"]


def test_what_stands_in_the_place_of_another_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "sub/.git").mkdir(parents=True)
    guard = Guard.begin(tmp_path)
    (tmp_path / "sub").rename(tmp_path / "away")
    (tmp_path / "sub/.git").mkdir(parents=True)
    assert guard.put_aside("later") == [
        PutAside("away/.git", "away/.git.later"),
        PutAside("sub/.git", "sub/.git.later"),
    ]


def test_a_folder_that_nobody_can_look_through_is_told(tmp_path: Path) -> None:
    guard = Guard.begin(tmp_path)
    here = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(103):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert [(found.path[:3], found.now) for found in guard.put_aside("later")] == [("d/d", "")]
    with pytest.raises(WorkspaceError, match="what is to be protected in place"):
        Guard.begin(tmp_path)
