"""What a program did to the workspace: what comes out, what stays in, and what is pointed at."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.errors import LostError, WorkspaceError
from runners.workspace import (
    PROTECTED,
    CopiedOut,
    LeftOut,
    compare,
    copy_in,
    copy_out,
    digest,
    put_folder,
    restore,
    snapshot,
)

from .folders import Spec, git_apply, make, tell
from .local_session import FolderSession


class Work:
    """A source folder, a box, and the way between them."""

    def __init__(self, folder: Path, before: Spec, include: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.source = make(folder / "source", before)
        self.box = make(folder / "box", {})
        self.include = include

    async def __aenter__(self) -> Work:
        self.copied = await copy_in(
            FolderSession(self.box),  # type: ignore[arg-type]
            self.source,
            archive=self.folder / "in.tar",
            include=self.include,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def out(self, protect: tuple[str, ...] = PROTECTED, **more: int) -> CopiedOut:
        session = FolderSession(self.box)
        dest = self.folder / "out"
        return await copy_out(session, self.copied, dest, protect=protect, **more)  # type: ignore[arg-type]


GIT: Spec = {".git/config": b"[core]\n", ".git/HEAD": b"ref: refs/heads/main\n", "f": b"1\n"}


async def test_changes_of_protected_paths_stay_in_the_box(tmp_path: Path) -> None:
    async with Work(tmp_path, {**GIT, ".github/workflows/ci.yml": b"a\n"}) as work:
        make(
            work.box,
            {
                ".git/config": b"[core]\n\tfsmonitor = id\n",
                ".git/hooks/pre-commit": (b"#!/bin/sh\n", 0o755),
                "sub/.git/config": b"[core]\n",
                ".GIT/config": b"[core]\n",
                ".github/workflows/ci.yml": b"b\n",
                ".vscode/tasks.json": b"{}",
                "f": b"2\n",
            },
        )
        out = await work.out()
    assert [change.path for change in out.changes] == ["f"]
    assert tell(out.folder) == {**GIT, ".github/workflows/ci.yml": b"a\n", "f": b"2\n"}
    word = "protected: changes in {} never leave a box"
    assert set(out.refused) == {
        LeftOut(".git", word.format(".git") + " (2 changes)"),
        LeftOut("sub/.git/config", word.format(".git")),
        LeftOut(".GIT/config", word.format(".git")),
        LeftOut(".github/workflows/ci.yml", word.format(".github/workflows")),
        LeftOut(".vscode/tasks.json", word.format(".vscode")),
    }


async def test_a_removed_git_folder_is_put_back(tmp_path: Path) -> None:
    async with Work(tmp_path, GIT) as work:
        shutil.rmtree(work.box / ".git")
        out = await work.out()
    assert (tell(out.folder), out.changes, out.patch.text) == (GIT, (), b"")
    assert [left.path for left in out.refused] == [".git"]


async def test_a_policy_can_protect_more(tmp_path: Path) -> None:
    async with Work(tmp_path, {"f": b"", "ci/run": b""}) as work:
        make(work.box, {"f": b"x", "ci/run": b"x"})
        out = await work.out(protect=(*PROTECTED, "ci"))
    assert [change.path for change in out.changes] == ["f"]
    assert out.refused == (LeftOut("ci/run", "protected: changes in ci never leave a box"),)


async def test_what_was_left_out_is_no_deletion_and_cannot_be_made_anew(tmp_path: Path) -> None:
    before: Spec = {".env": b"SECRET=1\n", ".venv/x": b"", "f": b"1\n"}
    async with Work(tmp_path, before) as work:
        assert tell(work.box) == {"f": b"1\n"}
        make(work.box, {".env": b"OTHER=1\n", ".venv/y": b"", "f": b"2\n"})
        out = await work.out()
    assert [change.path for change in out.changes] == ["f"]
    assert git_apply(work.source, out.patch.text).returncode == 0
    assert tell(work.source) == {**before, "f": b"2\n"}
    assert set(out.refused) == {
        LeftOut(".env", "was left out on the way in"),
        LeftOut(".venv/y", "was left out on the way in"),
    }


async def test_by_products_of_test_runs_do_not_come_out(tmp_path: Path) -> None:
    async with Work(tmp_path, {"m.py": b"", "__pycache__/m.pyc": b"mine"}) as work:
        make(
            work.box,
            {
                "__pycache__/m.pyc": b"theirs",
                "__pycache__/n.pyc": b"theirs",
                ".pytest_cache/v/x": b"",
                "sourceless.pyc": b"theirs",
                "node_modules/x/i.js": b"",
            },
        )
        out = await work.out()
    assert (out.changes, tell(out.folder)) == ((), {"m.py": b"", "__pycache__/m.pyc": b"mine"})
    assert {left.path for left in out.refused} == {
        "__pycache__",
        ".pytest_cache/v/x",
        "sourceless.pyc",
        "node_modules/x/i.js",
    }


async def test_special_files_are_refused_and_what_they_replaced_is_no_deletion(
    tmp_path: Path,
) -> None:
    async with Work(tmp_path, {"f": b"1", "d/g": b"2"}) as work:
        os.unlink(work.box / "f")
        os.mkfifo(work.box / "f")
        (work.box / "out").symlink_to("/etc/passwd")
        out = await work.out()
    assert (out.changes, tell(out.folder)) == ((), {"f": b"1", "d/g": b"2"})
    assert set(out.refused) == {
        LeftOut("f", "a FIFO"),
        LeftOut("out", "a symbolic link that leads out"),
    }


async def test_more_than_a_bound_makes_no_patch_at_all(tmp_path: Path) -> None:
    async with Work(tmp_path, {"f": b"1"}) as work:

        class Crowded(FolderSession):
            async def get_tree(self, tar: Path, **_: object) -> None:
                from runners.supervisor.pack import pack

                root = os.open(self.folder, os.O_RDONLY)
                with tar.open("wb") as file:
                    pack(root, file.write, 1 << 20, 3)
                os.close(root)

        make(work.box, {f"new/{count}": b"" for count in range(9)})
        out = await copy_out(Crowded(work.box), work.copied, tmp_path / "out")  # type: ignore[arg-type]
    assert (out.complete, out.changes, out.patch.text) == (False, (), b"")


async def test_a_file_larger_than_the_limit_stays_and_is_named(tmp_path: Path) -> None:
    async with Work(tmp_path, {"f": b"1"}) as work:
        (work.box / "big").touch()
        os.truncate(work.box / "big", 1 << 40)
        make(work.box, {"f": b"2"})
        out = await work.out(limit_mib=1)
    assert [change.path for change in out.changes] == ["f"]
    assert [left.path for left in out.refused] == ["big"]


async def test_what_somebody_should_look_at_is_flagged(tmp_path: Path) -> None:
    async with Work(tmp_path, {"old.sh": (b"", 0o755), "m": b""}) as work:
        make(
            work.box,
            {
                "old.sh": (b"changed", 0o755),
                "new.sh": (b"#!", 0o755),
                "m": (b"", 0o755),
                "l": ("link", "m"),
                ".envrc": b"",
                ".github/CODEOWNERS": b"",
                "plain": b"",
            },
        )
        out = await work.out()
    assert [(flag.path, flag.reason) for flag in out.flagged] == [
        (".envrc", "run by direnv"),
        (".github/CODEOWNERS", "read by a code host"),
        ("l", "a symbolic link to m"),
        ("m", "can be executed"),
        ("new.sh", "can be executed"),
    ]


async def test_the_source_may_change_meanwhile(tmp_path: Path) -> None:
    """The patch is against what went in, which was kept."""
    async with Work(tmp_path, {"f": b"1\n", "gone": b"x\n"}) as work:
        shutil.rmtree(work.source)
        make(work.box, {"f": b"2\n"})
        out = await work.out()
    make(tmp_path / "again", {"f": b"1\n", "gone": b"x\n"})
    assert git_apply(tmp_path / "again", out.patch.text).returncode == 0
    assert tell(tmp_path / "again") == {"f": b"2\n", "gone": b"x\n"}


async def test_a_path_of_a_result_can_be_made_what_it_was(tmp_path: Path) -> None:
    async with Work(tmp_path, {"conftest.py": b"old", "d/f": b"1"}) as work:
        make(work.box, {"conftest.py": b"new", "d/e/sitecustomize.py": b"", "d/f": b"2"})
        out = await work.out()
    restore(work.copied, out, ["conftest.py", "d/e/sitecustomize.py", "absent"])
    assert tell(out.folder) == {"conftest.py": b"old", "d/f": b"2"}
    assert len(out.changes) == 3


async def test_a_folder_of_a_task_travels_whole(tmp_path: Path) -> None:
    source = make(tmp_path / "tests", {".env": b"", "node_modules/x": b"", "t.pem": b""})
    box = make(tmp_path / "box", {"kept": b""})
    await put_folder(FolderSession(box), source, root="tests")  # type: ignore[arg-type]
    assert tell(box) == {**tell(source), "kept": b""}


@pytest.fixture
def masked() -> Iterator[None]:
    old = os.umask(0o077)
    yield
    os.umask(old)


@pytest.mark.usefixtures("masked")
async def test_modes_travel_whatever_the_umask_is(tmp_path: Path) -> None:
    async with Work(tmp_path, {"run": (b"", 0o755), "f": b""}) as work:
        out = await work.out()
    assert (work.box / "run").stat().st_mode & 0o777 == 0o755
    assert (out.folder / "f").stat().st_mode & 0o777 == 0o644
    assert out.changes == ()


async def test_work_in_place_is_told_as_a_patch_against_the_snapshot(tmp_path: Path) -> None:
    before: Spec = {".git/HEAD": b"x", "f": b"1\n", "gone": b"2\n", ".env": b"s"}
    source = make(tmp_path / "w", before)
    copied = await snapshot(source, tmp_path / "in.tar")
    make(source, {"f": b"2\n", "new": b"n\n", ".env": b"t", ".git/HEAD": b"y"})
    (source / "gone").unlink()
    os.mkfifo(source / "fifo")
    after = digest(source)
    out = await compare(copied, tmp_path / "out")
    assert [(change.path, change.kind) for change in out.changes] == [
        ("f", "modified"),
        ("gone", "deleted"),
        ("new", "added"),
    ]
    assert tell(out.folder) == {".git/HEAD": b"x", "f": b"2\n", "new": b"n\n"}
    assert digest(source) == after
    original = make(tmp_path / "original", before)
    assert git_apply(original, out.patch.text, "--check").returncode == 0


class Refusing(FolderSession):
    """A box that ends before it took anything."""

    async def put_tree(self, tar: Path, *, root: str = "workspace") -> None:
        raise LostError("the box ended")


async def test_a_box_that_takes_nothing_fails_the_copy_at_once(tmp_path: Path) -> None:
    source = make(tmp_path / "source", {"f": b"x" * (8 << 20)})
    with pytest.raises(LostError, match="the box ended"):
        await copy_in(Refusing(tmp_path), source)  # type: ignore[arg-type]


async def test_a_file_that_shrinks_under_the_copy_is_the_operators_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make(tmp_path / "source", {"f": b"x" * (8 << 20)})
    box = make(tmp_path / "box", {})
    real = os.read

    def shrinking(descriptor: int, size: int) -> bytes:
        os.truncate(source / "f", 1 << 20)
        return real(descriptor, size)

    monkeypatch.setattr(os, "read", shrinking)
    with pytest.raises(WorkspaceError, match="shrank while it was read: f"):
        await copy_in(FolderSession(box), source)  # type: ignore[arg-type]


@pytest.mark.skipif(os.getuid() == 0, reason="root reads every folder")
async def test_a_folder_that_cannot_be_read_is_named_and_nothing_comes_out_there(
    tmp_path: Path,
) -> None:
    source = make(tmp_path / "source", {"closed/f": b"1", "g": b""})
    (source / "closed").chmod(0)
    box = make(tmp_path / "box", {})
    session = FolderSession(box)
    copied = await copy_in(session, source, archive=tmp_path / "in.tar")  # type: ignore[arg-type]
    make(box, {"closed/f": b"2", "g": b"2"})
    out = await copy_out(session, copied, tmp_path / "out")  # type: ignore[arg-type]
    (source / "closed").chmod(0o700)
    assert [left.path for left in copied.tree.left_out] == ["closed"]
    assert [change.path for change in out.changes] == ["g"]


async def test_many_copies_at_once_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """More of them than the event loop has threads, each larger than a pipe."""
    source = make(tmp_path / "source", {"f": b"x" * (2 << 20)})
    boxes = [make(tmp_path / f"box{count}", {}) for count in range(40)]
    copies = [put_folder(FolderSession(box), source, root="workspace") for box in boxes]  # type: ignore[arg-type]
    await asyncio.gather(*copies)
    assert [tell(box) == tell(source) for box in boxes] == [True] * 40


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Path]:
    """A folder of a user to whom access can be denied."""
    if os.geteuid() != 0:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory() as name:
        os.chown(name, 65534, 65534)
        os.seteuid(65534)
        try:
            yield Path(name)
        finally:
            os.seteuid(0)


async def test_files_that_may_not_be_read_are_named_and_stay_behind(plain: Path) -> None:
    before = {"a": b"1\n", "closed": (b"2\n", 0o000), "folder/b": b"3\n"}
    async with Work(plain, before) as work:
        (work.box / "a").write_text("4\n")
        out = await work.out()
    assert work.copied.tree.left_out == (LeftOut("closed", "the system denies access"),)
    assert sorted(p.name for p in work.box.rglob("*")) == ["a", "b", "folder"]
    assert [change.path for change in out.changes] == ["a"]


async def test_a_task_whose_tests_may_not_be_read_is_the_operators_to_mend(plain: Path) -> None:
    source = make(plain / "tests", {"test_a.py": (b"1\n", 0o000)})
    session = FolderSession(make(plain / "box", {}))
    with pytest.raises(WorkspaceError, match=r"test_a\.py cannot be read; make it readable"):
        await put_folder(session, source, root="tests")  # type: ignore[arg-type]
