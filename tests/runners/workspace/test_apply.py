"""Bringing changes into the operator's own folder, or nothing where it changed meanwhile."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

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


async def test_the_mode_of_a_file_is_kept(tmp_path: Path) -> None:
    source, out = await changed(tmp_path, {"f": b"1"}, {"f": b"2"})
    (source / "f").chmod(0o660)
    apply(source, out)
    assert stat.S_IMODE((source / "f").stat().st_mode) == 0o660
