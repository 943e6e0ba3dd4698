"""Protected names of a folder that is worked on in place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runners import WorkspaceError
from runners.workspace import Guard, Trace


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
    assert guard.settle("later") == []
    assert names(tmp_path) == [".git", ".git/hooks"]


def test_what_is_made_at_a_protected_name_gets_another(tmp_path: Path) -> None:
    guard = Guard.begin(tmp_path)
    (tmp_path / "sub/.git").mkdir(parents=True)
    (tmp_path / ".vscode").symlink_to("sub")
    assert guard.settle("later") == [
        Trace("made", ".vscode", ".vscode.later"),
        Trace("made", "sub/.git", "sub/.git.later"),
    ]
    assert names(tmp_path) == [".vscode.later", "sub", "sub/.git.later"]


def test_what_merely_moved_with_a_folder_stays_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "sub/.git/hooks").mkdir(parents=True)
    guard = Guard.begin(tmp_path)
    (tmp_path / "sub").rename(tmp_path / "sub2")
    assert guard.settle("later") == [Trace("moved", "sub2/.git", "sub/.git")]
    assert names(tmp_path) == ["sub2", "sub2/.git", "sub2/.git/hooks"]


def test_another_name_of_what_still_stands_is_put_aside(tmp_path: Path) -> None:
    for folder in ("module", "other"):
        (tmp_path / folder).mkdir()
    (tmp_path / "module/.git").write_text("gitdir: ../x")
    guard = Guard.begin(tmp_path)
    os.link(tmp_path / "module/.git", tmp_path / "other/.git")
    assert guard.settle("later") == [Trace("made", "other/.git", "other/.git.later")]


def test_what_stands_in_the_place_of_another_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "sub/.git").mkdir(parents=True)
    guard = Guard.begin(tmp_path)
    (tmp_path / "sub").rename(tmp_path / "away")
    (tmp_path / "sub/.git").mkdir(parents=True)
    assert guard.settle("later") == [
        Trace("moved", "away/.git", "sub/.git"),
        Trace("made", "sub/.git", "sub/.git.later"),
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
    assert [(found.path[:3], found.kind) for found in guard.settle("later")] == [("d/d", "unseen")]
    with pytest.raises(WorkspaceError, match="what is to be protected in place"):
        Guard.begin(tmp_path)


def special(folder: Path) -> dict[str, str]:
    """The set-uid and set-gid bits of everything in a folder."""
    paths = [folder, *folder.rglob("*")]
    modes = {str(path.relative_to(folder)): path.lstat().st_mode & 0o6000 for path in paths}
    return {path: oct(mode) for path, mode in modes.items() if mode}


def test_bits_that_were_set_in_the_box_are_taken_away_and_named(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("x")
    guard = Guard.begin(tmp_path)
    (tmp_path / ".git").mkdir()
    for name, mode in (("old", 0o4755), ("new", 0o6000), (".git/x", 0o4755)):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(mode)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder").chmod(0o2775)
    (tmp_path / "link").symlink_to("/usr/bin/passwd")
    tmp_path.chmod(0o4700)
    assert guard.settle("later") == [
        Trace("made", ".git", ".git.later"),
        Trace("cleared", "."),
        *[Trace("cleared", path) for path in (".git.later/x", "folder", "new", "old")],
    ]
    assert special(tmp_path) == {}
    assert (tmp_path / "old").stat().st_mode & 0o7777 == 0o755


def test_bits_that_were_there_stay_on_what_was_left_alone(tmp_path: Path) -> None:
    for name in ("left", "written", "linked"):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(0o4755)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/x").write_text("x")
    (tmp_path / ".git/x").chmod(0o4755)
    guard = Guard.begin(tmp_path)
    (tmp_path / "written").write_text("planted")
    (tmp_path / "written").chmod(0o4755)
    os.link(tmp_path / "linked", tmp_path / "name")
    assert guard.settle("later") == [
        *[Trace("cleared", path) for path in ("linked", "written")],
    ]
    assert special(tmp_path) == {"left": "0o4000", ".git/x": "0o4000"}


def test_a_folder_hands_its_group_down_to_those_in_it(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o2775)
    guard = Guard.begin(tmp_path)
    (tmp_path / "shared/a/b").mkdir(parents=True)
    assert guard.settle("later") == []
    assert sorted(special(tmp_path)) == ["shared", "shared/a", "shared/a/b"]
