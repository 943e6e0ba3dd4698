"""A tree's digest stands for all that a program could see of it, and for nothing else."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_images import ImageError
from sandbox_images.tree import (
    dpkg_packages,
    find_python,
    finish_tree,
    tree_digest,
    unpack,
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "usr/bin").mkdir(parents=True)
    (root / "etc").mkdir()
    (root / "usr/bin/python3.11").write_text("binary")
    (root / "usr/bin/python3").symlink_to("python3.11")
    (root / "dev").mkdir()
    return root


def change_content(root: Path) -> None:
    (root / "usr/bin/python3.11").write_text("other")


def change_mode(root: Path) -> None:
    (root / "usr/bin/python3.11").chmod(0o777)


def change_link(root: Path) -> None:
    (root / "usr/bin/python3").unlink()
    (root / "usr/bin/python3").symlink_to("python3.12")


def change_kind(root: Path) -> None:
    (root / "usr/bin/python3").unlink()
    (root / "usr/bin/python3").write_text("python3.11")


def add_empty_folder(root: Path) -> None:
    (root / "opt").mkdir()


def rename(root: Path) -> None:
    (root / "etc").rename(root / "etd")


@pytest.mark.parametrize(
    "change", [change_content, change_mode, change_link, change_kind, add_empty_folder, rename]
)
def test_every_visible_change_changes_the_digest(tree, change):
    before = tree_digest(tree)
    change(tree)
    assert tree_digest(tree) != before


def test_times_and_what_boxes_mount_over_do_not_change_the_digest(tree):
    before = tree_digest(tree)
    os.utime(tree / "etc", (1, 1))
    (tree / "dev/null").write_text("")
    assert tree_digest(tree) == before


@given(names=st.sets(st.binary(min_size=1, max_size=8), min_size=2, max_size=4))
def test_names_that_are_not_text_have_a_digest(tmp_path_factory, names):
    root = tmp_path_factory.mktemp("names")
    usable = sorted(name for name in names if b"/" not in name and b"\0" not in name)
    for name in usable:
        if name not in (b".", b".."):
            os.close(os.open(os.fsencode(root) + b"/" + name, os.O_CREAT | os.O_WRONLY))
    assert tree_digest(root) == tree_digest(root)


def test_a_finished_tree_has_the_mount_points_and_no_name_of_the_machine(tree):
    (tree / "etc/hostname").write_text("some-machine\n")
    (tree / "etc/resolv.conf").symlink_to("/etc/resolv.conf")
    finish_tree(tree)
    assert {path.name for path in tree.iterdir()} >= {"workspace", "tests", "logs", "solution"}
    assert (tree / "etc/hostname").read_text() == "box\n"
    assert (tree / "etc/resolv.conf").read_text() == ""
    assert not (tree / "etc/resolv.conf").is_symlink()


def test_finishing_twice_is_finishing_once(tree):
    finish_tree(tree)
    before = tree_digest(tree)
    finish_tree(tree)
    assert tree_digest(tree) == before


def test_a_mount_point_that_is_a_link_is_refused_not_followed(tree, tmp_path):
    (tmp_path / "outside").mkdir()
    (tree / "tests").symlink_to(tmp_path / "outside")
    with pytest.raises(ImageError, match="/tests of the image is not a folder"):
        finish_tree(tree)


def test_a_linked_etc_is_not_written_through(tree, tmp_path):
    (tree / "etc").rmdir()
    (tmp_path / "outside").mkdir()
    (tree / "etc").symlink_to(tmp_path / "outside")
    finish_tree(tree)
    assert list((tmp_path / "outside").iterdir()) == []


def test_devices_of_an_archive_stay_out(tree, tmp_path):
    (tree / "dev/console").write_text("x")
    (tree / ".dockerenv").write_text("")
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        for path in tree.iterdir():
            archive.add(path, path.name)
    unpack(tmp_path / "x.tar", tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["dev", "etc", "usr"]
    assert list((tmp_path / "out/dev").iterdir()) == []


def test_a_broken_archive_is_our_error_with_tars_words(tmp_path):
    (tmp_path / "x.tar").write_bytes(b"not a tar" * 100)
    with pytest.raises(ImageError, match="does not unpack: tar: "):
        unpack(tmp_path / "x.tar", tmp_path / "out")


def test_the_interpreter_is_found_without_running_it(tree):
    assert find_python(tree) == ("/usr/bin/python3", "3.11")


def test_an_interpreter_in_usr_local_comes_first(tree):
    (tree / "usr/local/bin").mkdir(parents=True)
    (tree / "usr/local/bin/python3").symlink_to("python3.13")
    assert find_python(tree) == ("/usr/local/bin/python3", "3.13")


def test_a_tree_without_python_says_so(tmp_path):
    assert find_python(tmp_path) == (None, "")


def test_only_installed_packages_count(tree):
    database = tree / "var/lib/dpkg"
    database.mkdir(parents=True)
    (database / "status").write_text(
        "Package: git\nStatus: install ok installed\nVersion: 1:2\n\n"
        "Package: vim\nStatus: deinstall ok config-files\nVersion: 9\n"
    )
    assert dpkg_packages(tree) == {"git": "1:2"}
