"""Finding files and lines, and what a shell glob stands for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.supervisor.fault import Refusal
from runners.supervisor.search import find_files, glob_names, search_text
from runners.supervisor.wildcard import Glob, matcher

from .conftest import Place


def fill(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(b"")


def search(place: Place, pattern: bytes, path: bytes = b".", **more: object) -> list[object]:
    options = {"regex": False, "glob": b"**", "limit": 100, **more}
    return list(search_text(place.root, pattern, path, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (b"*.py", [b"top.py"]),
        (b"**/*.py", [b".hidden/h.py", b"a/b/deep.py", b"a/one.py", b"top.py"]),
        (b"a/**", [b"a/b/deep.py", b"a/one.py", b"a/two.txt"]),
        (b"a/*", [b"a/one.py", b"a/two.txt"]),
        (b"**/b/*", [b"a/b/deep.py"]),
        (b"a/[!t]*.py", [b"a/one.py"]),
        (b"a/t?o.txt", [b"a/two.txt"]),
        (b"./a//one.py", [b"a/one.py"]),
        (b"nothing", []),
    ],
)
def test_files_are_found_by_glob(place: Place, pattern: bytes, expected: list[bytes]) -> None:
    fill(place.folder, "top.py", "a/one.py", "a/two.txt", "a/b/deep.py", ".hidden/h.py")
    fill(place.folder, ".git/objects/x.py")
    (place.folder / "link.py").symlink_to("top.py")
    (place.folder / "folder").symlink_to("a")
    assert find_files(place.root, pattern, b".", 100) == (expected, True)


def test_paths_found_below_a_folder_are_relative_to_the_root(place: Place) -> None:
    fill(place.folder, "a/b/c.py", "a/d.py", "c.py")
    assert find_files(place.root, b"**/*.py", b"a", 9) == ([b"a/b/c.py", b"a/d.py"], True)
    assert find_files(place.root, b"*.py", b"./a/b/", 9) == ([b"a/b/c.py"], True)


def test_a_bound_that_was_reached_is_told(place: Place) -> None:
    fill(place.folder, "a", "b", "c")
    assert find_files(place.root, b"*", b".", 2) == ([b"a", b"b"], False)


def test_a_pattern_does_not_climb(place: Place) -> None:
    for pattern in (b"../*", b"/etc/*"):
        with pytest.raises(Refusal) as caught:
            find_files(place.root, pattern, b".", 9)
        assert caught.value.code == "path-escape"


def test_a_tree_of_three_thousand_levels_is_walked_to_the_bound_and_told(place: Place) -> None:
    descriptor = os.dup(place.root)
    for _ in range(3000):
        os.mkdir(b"d" * 200, dir_fd=descriptor)
        below = os.open(b"d" * 200, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    fill(place.folder, "found")
    try:
        assert find_files(place.root, b"**", b".", 9) == ([b"found"], False)
    finally:
        hoist(place.folder / ("d" * 200))


def hoist(top: Path) -> None:
    """Remove a chain of folders that is deeper than any path."""
    while True:
        below = [entry for entry in os.scandir(top) if entry.is_dir()]
        if not below:
            top.rmdir()
            return
        os.rename(below[0].path, top.parent / "next")
        top.rmdir()
        (top.parent / "next").rename(top)


def test_lines_with_a_text_are_found_once_each(place: Place) -> None:
    (place.folder / "f").write_bytes(b"one\ntwo two\r\nthree\ntwo")
    assert search(place, b"two") == [(b"f", 2, b"two two"), (b"f", 4, b"two")]
    assert search(place, b"two", limit=1) == [(b"f", 2, b"two two")]
    assert search(place, b"two", b"f") == [(b"f", 2, b"two two"), (b"f", 4, b"two")]


def test_lines_that_match_an_expression_are_found(place: Place) -> None:
    (place.folder / "f").write_bytes("x = 1\nÄy = 22\n\xff".encode("latin-1"))
    (place.folder / "g").write_bytes("größe = 3\n".encode())
    assert search(place, rb"^\w+ = \d$", regex=True) == [
        (b"f", 1, b"x = 1"),
        (b"g", 1, "größe = 3".encode()),
    ]


def test_a_bad_expression_is_a_refusal(place: Place) -> None:
    with pytest.raises(Refusal, match="not a regular expression"):
        search(place, b"(", regex=True)


def test_binary_files_links_and_special_files_are_passed_by(place: Place) -> None:
    (place.folder / "binary").write_bytes(b"text\0text")
    (place.folder / "link").symlink_to("../root-secret/secret")
    os.mkfifo(place.folder / "fifo")
    (place.folder / "text").write_bytes(b"text outside")
    assert search(place, b"text") == [(b"text", 1, b"text outside")]
    assert search(place, b"outside") == [(b"text", 1, b"text outside")]


def test_the_glob_chooses_the_files_to_search(place: Place) -> None:
    fill(place.folder, "a.py", "a.txt")
    for name in ("a.py", "a.txt"):
        (place.folder / name).write_bytes(b"hit\n")
    assert search(place, b"hit", glob=b"**/*.py") == [(b"a.py", 1, b"hit")]


def test_a_long_line_is_cut_at_whole_characters(place: Place) -> None:
    (place.folder / "f").write_bytes("é".encode() * 600)
    assert search(place, "é".encode()) == [(b"f", 1, "é".encode() * 500)]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (b"*.py", [b"a.py", b"b.py"]),
        (b"*", [b"a.py", b"b.py", b"d", b"l"]),
        (b"*/*.py", [b"d/c.py", b"l/c.py"]),
        (b"*/", [b"d/", b"l/"]),
        (b"d/[a-c].py", [b"d/c.py"]),
        (b"none*", []),
        (b"../*/secret", []),
        (b"out/*", []),
        (b".*", []),
    ],
)
def test_a_shell_glob_stands_for_names_inside(
    place: Place, pattern: bytes, expected: list[bytes]
) -> None:
    fill(place.folder, "a.py", "b.py", ".hidden.py", "d/c.py", ".dir/x.py")
    (place.folder / "l").symlink_to("d")
    (place.folder / "d" / "out").symlink_to(place.outside)
    assert glob_names(place.root, pattern, b".", 100) == expected


def test_a_glob_is_relative_to_the_folder_it_stands_in(place: Place) -> None:
    fill(place.folder, "d/c.py", "d/e/f.py", "g.py")
    assert glob_names(place.root, b"*.py", b"d", 100) == [b"c.py"]
    assert glob_names(place.root, b"../*.py", b"d", 100) == [b"../g.py"]


def test_a_glob_for_too_many_names_is_refused(place: Place) -> None:
    fill(place.folder, *(f"{count}" for count in range(20)))
    with pytest.raises(Refusal) as caught:
        glob_names(place.root, b"*", b".", 10)
    assert caught.value.code == "too-large"


@given(name=st.text("ab", max_size=30), stars=st.integers(1, 30))
def test_a_pattern_of_many_stars_ends_soon(name: str, stars: int) -> None:
    assert matcher(b"*a" * stars + b"c")(name + "b" * 200) is False


@given(parts=st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=5))
def test_a_double_star_matches_every_path(parts: list[str]) -> None:
    path = "/".join(parts).encode()
    assert Glob(b"**").matches(path)
    assert Glob(b"**/**/" + path).matches(path)
    assert Glob(path).matches(path)


@pytest.mark.parametrize("pattern", [b"..", b"*/../..", b"d/../../*"])
def test_a_glob_never_names_the_outside(place: Place, pattern: bytes) -> None:
    fill(place.folder, "d/c.py")
    assert glob_names(place.root, pattern, b".", 100) == []
