"""Bringing changes into the operator's own folder, or nothing where it changed meanwhile."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from runners import WorkspaceError
from runners.workspace import Applied, CopiedOut, apply_changes, copy_in, copy_out, digest

from .folders import Spec, make, tell
from .local_session import FolderSession
from .test_round_trip import plain, specs


async def changed(folder: Path, before: Spec, after: Spec) -> tuple[Path, CopiedOut]:
    """A source folder, and what a box made of a copy of it."""
    source = make(folder / "source", before)
    box = make(folder / "box", {})
    session = FolderSession(box)
    copied = await copy_in(session, source, archive=folder / "in.tar")  # type: ignore[arg-type]
    os.rename(box, folder / "first")
    make(box, after)
    return source, await copy_out(session, copied, folder / "out")  # type: ignore[arg-type]


def apply(source: Path, out: CopiedOut) -> Applied:
    return apply_changes(source, out.changes, out.content)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(before=specs.map(plain), after=specs.map(plain))
async def test_applied_changes_make_the_folder_the_result(before: Spec, after: Spec) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, out = await changed(Path(folder), before, after)
        assert apply(source, out) == Applied(out.changes, ())
        assert tell(source) == after


@pytest.mark.parametrize(
    ("meanwhile", "path", "reason"),
    [
        ({"f": b"mine"}, "f", "was changed meanwhile"),
        ({"new": b"mine"}, "new", "is there already"),
        ({"new/x": b"mine"}, "new", "is there already"),
        ({"d/gone": b"mine"}, "d/gone", "was changed meanwhile"),
        ({"run": (b"", 0o755)}, "run", "was changed meanwhile"),
    ],
)
async def test_one_conflict_and_nothing_is_written(
    tmp_path: Path, meanwhile: Spec, path: str, reason: str
) -> None:
    before: Spec = {"f": b"1", "d/gone": b"2", "run": b""}
    source, out = await changed(tmp_path, before, {"f": b"2", "new": b"3", "run": b"x"})
    make(source, meanwhile)
    untouched = digest(source)
    applied = apply(source, out)
    assert [(found.path, found.reason) for found in applied.conflicts] == [(path, reason)]
    assert applied.changes == ()
    assert digest(source) == untouched


async def test_a_file_that_is_gone_is_a_conflict(tmp_path: Path) -> None:
    source, out = await changed(tmp_path, {"f": b"1"}, {"f": b"2"})
    (source / "f").unlink()
    assert [found.reason for found in apply(source, out).conflicts] == ["is gone"]


async def test_a_folder_that_became_a_link_is_not_written_through(tmp_path: Path) -> None:
    source, out = await changed(tmp_path, {"d/f": b"1"}, {"d/f": b"2", "d/new": b""})
    os.rename(source / "d", tmp_path / "elsewhere")
    (source / "d").symlink_to(tmp_path / "elsewhere")
    assert len(apply(source, out).conflicts) == 2
    assert tell(tmp_path / "elsewhere") == {"f": b"1"}


async def test_files_that_are_not_in_the_changes_are_left_alone(tmp_path: Path) -> None:
    before: Spec = {"f": b"1", "d/x": b"", ".env": b"s"}
    source, out = await changed(tmp_path, before, {"f": b"2"})
    make(source, {"other": b"mine", "d/mine": b""})
    assert apply(source, out).conflicts == ()
    assert tell(source) == {"f": b"2", ".env": b"s", "other": b"mine", "d/mine": b""}


def everything(folder: Path) -> dict[str, object]:
    """Names, modes and contents, empty folders too."""
    return {
        str(path.relative_to(folder)): (
            os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes(),
            stat.S_IMODE(path.lstat().st_mode),
        )
        for path in folder.rglob("*")
    }


async def test_on_a_full_disk_nothing_is_changed(tmp_path: Path, small_disk: Path) -> None:
    before: Spec = {"old.txt": b"1", "f": b"1"}
    source, out = await changed(tmp_path, before, {"a.txt": b"2", "f": b"2", "z": b"x" * 300_000})
    there = shutil.copytree(source, small_disk / "source")
    untouched = everything(there)
    with pytest.raises(WorkspaceError, match=r"nothing was changed in .*z: No space left"):
        apply(there, out)
    assert everything(there) == untouched


BEFORE: Spec = {
    "d/gone": b"1",
    "dir/x": b"1",
    "file": b"1",
    "f": b"1",
    "l": ("link", "f"),
    "kind": ("link", "f"),
    "run": (b"1", 0o755),
}
AFTER: Spec = {
    "dir": b"a file now",
    "empty": b"x",
    "file/y": b"a folder now",
    "f": (b"2", 0o755),
    "l": ("link", "run"),
    "kind": b"a file now",
    "run": b"1",
    "sub/new": b"2",
    "z": b"2",
}


class Failing:
    """A function of the system that fails from one call on, for a number of calls."""

    def __init__(self, name: str, first: int, count: int) -> None:
        self.real = getattr(os, name)
        self.calls = range(first, first + count)
        self.seen = 0

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.seen += 1
        if self.seen - 1 in self.calls:
            raise OSError(errno.EIO, "Input/output error")
        return self.real(*given, **named)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        *[("rename", first) for first in (0, 4, 8, 12)],
        *[("mkdir", first) for first in (0, 1, 2)],
        *[("rmdir", first) for first in (0, 1)],
    ],
)
async def test_a_change_that_fails_undoes_those_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, first: int
) -> None:
    source, out = await changed(tmp_path, BEFORE, AFTER)
    (source / "empty" / "deep").mkdir(parents=True)
    (source / "empty").chmod(0o2750)
    untouched = everything(source)
    monkeypatch.setattr(f"os.{name}", Failing(name, first, 1))
    with pytest.raises(WorkspaceError, match="nothing was changed in"):
        apply(source, out)
    assert everything(source) == untouched


async def test_a_file_system_without_hard_links_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = await changed(tmp_path, BEFORE, AFTER)
    monkeypatch.setattr("os.link", Failing("link", 0, 1000))
    assert apply(source, out).changes == out.changes
    assert (tell(source), list(source.glob(".stockade*"))) == (AFTER, [])


async def test_what_cannot_be_put_back_is_named_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = await changed(tmp_path, {"a": b"1", "b": b"1"}, {})
    monkeypatch.setattr("os.rename", Failing("rename", 1, 1000))
    with pytest.raises(WorkspaceError, match=r"not put back: b\. What was there lies in") as caught:
        apply(source, out)
    room = source / str(caught.value).rpartition(" ")[2]
    assert [path.read_bytes() for path in room.iterdir()] == [b"1"]
    assert (source / "a").read_bytes() == b"1"


async def test_the_mode_of_a_file_is_kept(tmp_path: Path) -> None:
    source, out = await changed(tmp_path, {"f": b"1"}, {"f": b"2"})
    (source / "f").chmod(0o660)
    apply(source, out)
    assert stat.S_IMODE((source / "f").stat().st_mode) == 0o660
