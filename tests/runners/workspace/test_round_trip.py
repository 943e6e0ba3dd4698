"""Whatever goes in comes out the same, and whatever changed is in the patch."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runners.supervisor.tar import leads_out
from runners.workspace import Tree, copy_in, copy_out, digest

from .folders import Spec, git_apply, make, tell
from .local_session import FolderSession

names = st.one_of(
    st.sampled_from(
        ["a", "b", "src", "x.py", "é", "tab\tin", "line\nend", 'quo"te', "back\\s", "-n"]
    ),
    st.sampled_from([" lead", "trail ", "\x1b[31m", "\udcff\udcfe", "A", "CON", "a b", "x" * 120]),
)
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
contents = st.one_of(
    st.sampled_from(
        [
            b"",
            b"\n",
            b"one\ntwo\nthree\n",
            b"one\nTWO\nthree\n",
            b"no end",
            b"crlf\r\nline\r\n",
            b"mixed\r\nline\n",
            b"latin \xe9\n",
            b"\0binary\xff" * 50,
            b"* text=auto\n*.py filter=x\n",
            b"diff --git a/x b/x\n--- a/x\n+++ b/x\n",
            bytes(range(256)) * 2000,
        ]
    ),
    st.binary(max_size=200),
)
files = st.one_of(contents, st.tuples(contents, st.sampled_from([0o644, 0o755, 0o600])))
links = st.sampled_from(["no where", "../gone", "no/../where"]).map(lambda target: ("link", target))
specs = st.dictionaries(paths, st.one_of(files, files, links), max_size=6)


def plain(spec: Spec) -> Spec:
    """A spec without paths that go through files, links that lead out, and odd modes."""
    kept: Spec = {}
    for path, what in sorted(spec.items()):
        above = path.split("/")
        if any("/".join(above[:count]) in kept for count in range(1, len(above))):
            continue
        link = str(what[1]) if isinstance(what, tuple) and what[0] == "link" else None
        if link is not None and leads_out(os.fsencode(path), os.fsencode(link)):
            continue
        odd = isinstance(what, tuple) and link is None and what[1] != 0o755
        kept[path] = what[0] if odd else what  # type: ignore[assignment, index]
    return kept


async def travel(folder: Path, before: Spec, after: Spec, git: str | None = None) -> None:
    """Copy a tree in, let it become another, copy it out: result and patch must be that other."""
    source = make(folder / "source", before)
    untouched = digest(source)
    box = make(folder / "box", {})
    copied = await copy_in(FolderSession(box), source, archive=folder / "in.tar")  # type: ignore[arg-type]
    assert tell(box) == before
    shutil.rmtree(box)
    make(box, after)
    out = await copy_out(FolderSession(box), copied, folder / "out", git=git)  # type: ignore[arg-type]
    assert tell(out.folder) == after
    assert digest(source) == untouched
    assert bool(out.patch.text) == (before != after)
    if out.patch.text:
        checked = git_apply(source, out.patch.text, "--check")
        assert checked.returncode == 0, (checked.stderr, out.patch.text)
        applied = git_apply(source, out.patch.text)
        assert applied.returncode == 0, applied.stderr
    assert tell(source) == after


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(before=specs.map(plain), after=specs.map(plain))
async def test_a_tree_that_went_in_comes_out_and_its_patch_makes_one_of_the_other(
    before: Spec, after: Spec
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        await travel(Path(folder), before, after)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(before=specs.map(plain), edits=specs.map(plain), gone=st.integers(0, 3))
async def test_a_patch_made_without_git_says_the_same(before: Spec, edits: Spec, gone: int) -> None:
    after = plain({**dict(list(before.items())[gone:]), **edits})
    with tempfile.TemporaryDirectory() as folder:
        await travel(Path(folder), before, after, git="")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"d/f": b"1", "l": ("link", "d")}, {"d/f": b"1", "l/f": b"2"}),
        ({"d/f": b"1", "l/f": b"2"}, {"d/f": b"1", "l": ("link", "d")}),
        ({"f": b"text\n"}, {"f": ("link", "g"), "g": b"text\n"}),
        ({"f": (b"run\n", 0o755)}, {"f": b"run\n"}),
        ({"f": b"run\n"}, {"f": (b"walk\n", 0o755)}),
        ({"old name": b"same\n" * 50}, {"new name": b"same\n" * 50}),
        ({"a /b": b"x"}, {"a /b": (b"x", 0o755)}),
        ({}, {"empty": b"", "a /empty": b""}),
        ({"x": b"file"}, {"x/y/z": b"below"}),
        ({"x/y/z": b"below"}, {"x": b"file"}),
        ({".gitattributes": b"* text=auto eol=crlf\n", "f": b"a\r\nb\n"}, {"f": b"a\nb\r\n"}),
    ],
)
@pytest.mark.parametrize("git", [None, ""])
async def test_changes_of_every_kind_are_in_the_patch(
    tmp_path: Path, before: Spec, after: Spec, git: str | None
) -> None:
    await travel(tmp_path, before, after, git)


async def test_an_empty_workspace_gives_a_patch_of_new_files(tmp_path: Path) -> None:
    box = make(tmp_path / "box", {})
    copied = await copy_in(FolderSession(box), None)  # type: ignore[arg-type]
    make(box, {"new.py": b"print()\n"})
    out = await copy_out(FolderSession(box), copied, tmp_path / "out")  # type: ignore[arg-type]
    assert out.patch.text.startswith(b"diff --git a/new.py b/new.py\nnew file mode 100644\n")
    assert out.patch.summary == "1 file changed: 1 added"
    assert copied.tree == Tree()
