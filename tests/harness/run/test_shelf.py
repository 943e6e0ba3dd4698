"""The folder of what was kept of a box, whatever the box made of the names and links in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.run.shelf import Row, Shelf
from harness.task import Kept
from runners.workspace import LeftOut

LEADS_OUT = "a link that leads out"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What was fetched; beside it lies what nothing may be written to."""
    (tmp_path / "events.jsonl").write_text("the log")
    tree = tmp_path / "tree"
    for index in range(2):
        (tree / f".kept/{index}").mkdir(parents=True)
    return tree


def shelf(tree: Path) -> Shelf:
    return Shelf(tree.parent / "run" / "kept", tree, ())


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_files_folders_and_inner_links_are_kept_with_their_executability(tree: Path) -> None:
    found = tree / ".kept/0/it"
    (found / "deep/empty").mkdir(parents=True)
    (found / "run").write_text("x")
    (found / "run").chmod(0o755)
    (found / "deep/link").symlink_to("../run")
    box = shelf(tree)
    assert box.fill([Kept("/a", "a/b")]) == [Row("/a", "a/b", "kept")]
    assert names(box.folder / "a/b") == ["deep", "deep/empty", "deep/link", "run"]
    assert (box.folder / "a/b/deep/link").read_text() == "x"
    assert os.access(box.folder / "a/b/run", os.X_OK)


def test_a_link_is_judged_by_where_it_lies_in_the_end(tree: Path) -> None:
    (tree / ".kept/0/it").mkdir()
    (tree / ".kept/0/it/l").symlink_to("../../../x")
    (tree / ".kept/1/it").symlink_to("../../events.jsonl")
    box = shelf(tree)
    assert box.fill([Kept("one", "a"), Kept("two", "b")]) == [
        Row("one", "a", "kept", (LeftOut("one/l", LEADS_OUT),)),
        Row("two", "b", LEADS_OUT),
    ]
    assert names(box.folder) == ["a", "manifest.json"]


@pytest.mark.parametrize("place", ["a", "a/below", "manifest.json", "manifest.json/x", "."])
def test_no_place_is_taken_twice_nor_that_of_the_list(tree: Path, place: str) -> None:
    for index in range(2):
        (tree / f".kept/{index}/it").mkdir()
    box = shelf(tree)
    rows = box.fill([Kept("one", "a"), Kept("two", place)])
    assert [row.status for row in rows] == ["kept", "its place is taken"]
    assert names(box.folder) == ["a", "manifest.json"]


def test_the_place_of_what_is_published_goes_to_the_first_that_claims_it(tree: Path) -> None:
    (tree / "artifacts/events.jsonl").mkdir(parents=True)
    (tree / ".kept/0/it").mkdir()
    box = shelf(tree)
    assert box.fill([Kept("l", "logs")]) == [
        Row("l", "logs", "kept"),
        Row("/logs/artifacts", "logs/artifacts", "its place is taken"),
    ]


def test_a_link_on_the_way_to_an_entry_is_not_followed(tree: Path) -> None:
    (tree / "other").mkdir()
    (tree / ".kept/0").rmdir()
    (tree / ".kept/0").symlink_to("../other")
    (tree / "other/it").write_text("x")
    (tree / "artifacts").symlink_to("other")
    box = shelf(tree)
    assert box.fill([Kept("l", "l")]) == [Row("l", "l", "is not there")]
    assert names(box.folder) == ["manifest.json"]


def test_what_could_not_leave_the_box_is_named(tree: Path) -> None:
    (tree / ".kept/0/it").mkdir()
    refused = (LeftOut(".kept/0/it/pipe", "a FIFO"), LeftOut(".kept/1/it", "a FIFO"))
    box = Shelf(tree.parent / "kept", tree, refused)
    assert box.fill([Kept("one", "a"), Kept("two", "b")]) == [
        Row("one", "a", "kept", (LeftOut("one/pipe", "a FIFO"),)),
        Row("two", "b", "a FIFO"),
    ]


def test_what_an_earlier_attempt_left_is_not_written_into(tree: Path) -> None:
    folder = tree.parent / "run" / "kept"
    folder.mkdir(parents=True)
    (folder / "manifest.json").symlink_to("../../events.jsonl")
    (folder / "a").symlink_to("../..")
    (tree / ".kept/0/it").write_text("x")
    assert shelf(tree).fill([Kept("one", "a/events.jsonl")])[0].status == "kept"
    assert (tree.parent / "events.jsonl").read_text() == "the log"
