"""Which tasks a batch has, and what it refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness.batch import BatchOptions, make_batch
from harness.batch.job import find_tasks
from harness.errors import ConfigError


def task(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text("")
    return folder


def test_folders_tasks_and_lists_are_found_in_a_fixed_order(tmp_path: Path) -> None:
    for name in ("many/b", "many/a", "one", "else/a"):
        task(tmp_path / name)
    (tmp_path / "many" / "notes").mkdir()
    (tmp_path / "list.txt").write_text("# two\none\n\nelse/a\n")
    found = find_tasks([tmp_path / "many", tmp_path / "list.txt"])
    assert [(e.name, str(e.folder.relative_to(tmp_path))) for e in found] == [
        ("a", "many/a"),
        ("b", "many/b"),
        ("one", "one"),
        ("a-2", "else/a"),
    ]


def test_the_same_command_takes_a_batch_up_and_another_is_refused(tmp_path: Path) -> None:
    task(tmp_path / "t")
    options = BatchOptions((tmp_path / "t",), out=tmp_path / "out")
    first, again = make_batch(options), make_batch(options)
    assert (first.resumed, again.resumed) == (False, True)
    other = BatchOptions((tmp_path / "t",), attempts=2, out=tmp_path / "out")
    with pytest.raises(ConfigError, match="another batch began there"):
        make_batch(other)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no such source": ({"sources": ("nowhere",)}, "nowhere: no such folder or file"),
    "a folder without tasks": ({"sources": ("empty",)}, "no task folder in it"),
    "a list with a wrong line": ({"sources": ("list.txt",)}, r"list\.txt:2: x is no task folder"),
    "a list of nothing": ({"sources": ("blank.txt",)}, "lists no task folder"),
    "a filter that takes none": ({"pattern": "zzz"}, "--filter zzz: no task"),
    "a baseline that is none": ({"baseline": "blank.txt"}, "is no summary of a batch"),
    "a folder of something else": ({"out": "t"}, "not empty and holds no batch"),
}


@pytest.mark.parametrize(("change", "says"), BAD.values(), ids=BAD)
def test_what_cannot_be_used_is_named(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    task(tmp_path / "t")
    (tmp_path / "empty").mkdir()
    (tmp_path / "list.txt").write_text("t\nx\n")
    (tmp_path / "blank.txt").write_text("\n")
    given: dict[str, Any] = {"sources": ("t",), "out": "new", **change}
    given["sources"] = tuple(tmp_path / one for one in given["sources"])
    for key in ("out", "baseline"):
        if key in given:
            given[key] = tmp_path / given[key]
    with pytest.raises(ConfigError, match=says):
        make_batch(BatchOptions(**given))


def test_a_baseline_is_the_summary_of_an_earlier_batch(tmp_path: Path) -> None:
    task(tmp_path / "t")
    summary = {"tasks": [{"name": "t", "passed": True}, {"name": "u", "passed": False}]}
    (tmp_path / "base.json").write_text(json.dumps(summary))
    options = BatchOptions((tmp_path / "t",), out=tmp_path / "out", baseline=tmp_path / "base.json")
    assert make_batch(options).baseline == frozenset({"t"})


NAMES: dict[str, tuple[list[str], list[str]]] = {
    "a made name is given to another": (["1/x", "2/x", "3/x-2"], ["x", "x-3", "x-2"]),
    "a given name comes first": (["1/x-2", "2/x", "3/x"], ["x-2", "x", "x-3"]),
    "many of one name": (["1/x", "2/x", "3/x", "4/x"], ["x", "x-2", "x-3", "x-4"]),
    "made names meet": (["1/x", "2/x", "3/x-2", "4/x-2"], ["x", "x-3", "x-2", "x-2-2"]),
    "another case": (["1/x", "2/X", "3/X-2"], ["x", "X-3", "X-2"]),
    "another form of a letter": (["1/\u00e9", "2/e\u0301"], ["\u00e9", "e\u0301-2"]),
    "sharp s": (["1/straße", "2/STRASSE"], ["straße", "STRASSE-2"]),
    "names that are too long": (
        ["1/" + "x" * 255, "2/" + "x" * 255],
        ["x" * 200, "x" * 200 + "-2"],
    ),
    "cut within a letter": (["1/" + "é" * 127], ["é" * 100]),
}


@pytest.mark.parametrize(("folders", "names"), NAMES.values(), ids=NAMES)
def test_no_two_tasks_have_one_name(tmp_path: Path, folders: list[str], names: list[str]) -> None:
    found = find_tasks([task(tmp_path / one) for one in folders])
    assert [(e.name, str(e.folder.relative_to(tmp_path))) for e in found] == list(
        zip(names, folders, strict=True)
    )


def test_a_name_that_no_file_could_hold_is_refused(tmp_path: Path) -> None:
    task(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")))
    with pytest.raises(ConfigError, match="the name is not UTF-8; rename the folder"):
        find_tasks([tmp_path])
