"""Finding programs, and judging paths on what they really are."""

from __future__ import annotations

import os

import pytest

from policies import PathCheck
from runners import Program


def verdicts(faults):
    return {fault.check.path: fault.reason for fault in faults}


async def judged(session, *paths: str, cwd: str = ".", **more) -> dict[str, str]:
    """The reasons for those of the paths that are at fault."""
    return verdicts(await session.check([PathCheck(1, path, **more) for path in paths], cwd))


@pytest.fixture
def tree(place):
    """A workspace with folders and links."""
    top = place.workspace
    (top / "src" / ".git").mkdir(parents=True)
    (top / "src" / "file").write_text("x")
    os.mkfifo(top / "fifo")
    for name, target in {
        "inside": "src/file",
        "outside": "/etc/passwd",
        "up": "../..",
        "loop": "loop",
        "hidden": "src/.git",
        "to-be": "src/new",
    }.items():
        (top / name).symlink_to(target)
    return top


@pytest.mark.req("S-122", "S-126")
async def test_paths_inside_are_in_order(session, tree):
    good = ["src/file", "src", ".", "inside", "src/../inside", "new", "src/new", "to-be", str(tree)]
    assert await judged(session, *good) == {}
    assert await judged(session, "file", "../inside", cwd="src") == {}


@pytest.mark.req("S-123", "S-124", "S-127")
async def test_paths_that_lead_out_are_at_fault(session, tree):
    bad = ["..", "../x", "outside", "up", "up/etc", "loop", "/etc/passwd", "src/../../x"]
    assert await judged(session, *bad) == dict.fromkeys(bad, "path-escape")
    assert await judged(session, "../..", cwd="src") == {"../..": "path-escape"}


@pytest.mark.req("S-125")
async def test_a_sibling_with_the_same_beginning_is_outside(session, tree):
    sibling = tree.parent / (tree.name + "-other")
    sibling.mkdir()
    assert await judged(session, f"{sibling}/x", f"../{sibling.name}/x") == {
        f"{sibling}/x": "path-escape",
        f"../{sibling.name}/x": "path-escape",
    }


async def test_another_root_is_not_the_workspace(session, place, tree):
    path = str(place.top / "tmp" / "x")
    assert await judged(session, path) == {path: "path-escape"}
    assert await judged(session, path, root="tmp") == {}
    assert await judged(session, "src", root="tmp") == {"src": "path-escape"}
    assert await judged(session, "src", root="unknown") == {"src": "path-escape"}


async def test_the_kind_must_be_right(session, tree):
    assert await judged(session, "src", "missing", "fifo", kind="file") == {
        "src": "value-type",
        "missing": "value-type",
        "fifo": "value-type",
    }
    assert await judged(session, "inside", "missing", kind="dir") == {
        "inside": "value-type",
        "missing": "value-type",
    }
    assert await judged(session, "fifo") == {"fifo": "value-type"}
    assert await judged(session, "inside", "src/file", kind="file") == {}


async def test_a_protected_name_is_found_behind_a_link(session, tree):
    names = ["hidden", "hidden/config", "src/.git/x/y", ".git/new", "src/.gitignore"]
    expected = dict.fromkeys(names[:-1], "path-protected")
    assert await judged(session, *names, writable=True) == expected
    assert await judged(session, *names) == {}


async def test_a_policy_says_which_names_are_protected(session, tree):
    checks = [PathCheck(1, path, writable=True) for path in (".git/new", "inside")]
    faults = await session.check(checks, protect=["src"])
    assert [(fault.check.path, fault.reason) for fault in faults] == [("inside", "path-protected")]


async def test_the_faults_name_the_path_as_it_was_given(session, tree):
    (fault,) = await session.check([PathCheck(3, "up")])
    assert (fault.check, fault.message) == (
        PathCheck(3, "up"),
        "up: it leads out of the workspace",
    )


async def test_no_checks_need_no_answer(session):
    assert await session.check([]) == ()


async def test_a_name_is_found_on_the_search_path_in_order(session, place):
    for name in ("one", "two"):
        folder = place.workspace / name
        folder.mkdir()
        (folder / "tool").write_text("#!/bin/sh\n")
        (folder / "tool").chmod(0o755)
    one, two = (str(place.workspace / name) for name in ("one", "two"))
    assert await session.resolve("tool", [two, one]) == Program(
        "tool", f"{two}/tool", f"{two}/tool"
    )
    assert await session.resolve("tool", ["/usr/bin", one]) == Program(
        "tool", f"{one}/tool", f"{one}/tool"
    )
    assert await session.resolve("tool", ["/usr/bin"]) is None


async def test_links_to_a_program_are_followed_and_both_paths_told(session):
    found = await session.resolve("python3", ["/nowhere", "/usr/bin"])
    assert found == Program("python3", os.path.realpath("/usr/bin/python3"), "/usr/bin/python3")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../sh", "/bin/sh", "a\0b", "\ud800"])
async def test_what_is_no_bare_name_is_no_program(session, name):
    assert await session.resolve(name, ["/usr/bin", "/bin"]) is None


async def test_a_folder_and_a_file_without_the_right_are_no_programs(session, place):
    (place.workspace / "sh").mkdir()
    (place.workspace / "text").write_text("x")
    top = str(place.workspace)
    assert await session.resolve("sh", [top]) is None
    assert await session.resolve("text", [top]) is None


async def test_a_glob_stands_for_names_in_the_workspace(session, place):
    for name in ("a.py", "b.py", ".hidden.py", "c.txt"):
        (place.workspace / name).write_text("")
    assert list(await session.glob("*.py")) == ["a.py", "b.py"]
    assert list(await session.glob("../*")) == []
