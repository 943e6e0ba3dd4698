"""Copy in, copy out: the operator's folder into a session, the result and a patch out of it."""

from __future__ import annotations

import asyncio
import dataclasses
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.contract import Root, Session
from runners.workspace.archive import write_archive
from runners.workspace.copied import CopiedIn, CopiedOut
from runners.workspace.leave import Rules
from runners.workspace.protect import PROTECTED, Protected
from runners.workspace.result import Gate, take_out
from runners.workspace.scan import MAX_FILES, scan
from runners.workspace.tree import Tree

__all__ = ["compare", "copy_in", "copy_out", "put_folder", "snapshot"]

LIMIT_MIB = 512


async def copy_in(  # noqa: PLR0913 - each is one choice of the caller
    session: Session,
    source: Path | None,
    *,
    root: Root = "workspace",
    include: Sequence[str] = (),
    plain: bool = False,
    archive: Path | None = None,
    limit_mib: int = LIMIT_MIB,
    max_files: int = MAX_FILES,
) -> CopiedIn:
    """Copy a folder into a root of a session; the folder itself is only read.

    Args:
        session: where to.
        source: the folder; None leaves the root empty.
        root: which root.
        include: patterns that override what is left out.
        plain: nothing is left out but what cannot travel (tests, solutions, results).
        archive: where to keep what went in; `copy_out` needs it for the workspace.
        limit_mib: a larger folder is a WorkspaceError that names its largest parts.
        max_files: as for bytes.
    """
    if source is None:
        return CopiedIn(None, Tree(), Rules((), include), archive)
    with tempfile.TemporaryDirectory(prefix="stockade-in-") as scratch:
        tar = archive or Path(scratch) / "in.tar"
        bounds = Bounds(limit_mib, max_files)
        copied = await asyncio.to_thread(take_in, source, tar, include, bounds, plain=plain)
        await session.put_tree(tar, root=root)
    return copied if archive else dataclasses.replace(copied, archive=None)


async def put_folder(session: Session, source: Path, *, root: Root) -> CopiedIn:
    """Copy a folder of a task, or a result, into a root: nothing of it is left out by rule."""
    return await copy_in(session, source, root=root, plain=True)


async def snapshot(
    source: Path, archive: Path, *, include: Sequence[str] = (), limit_mib: int = LIMIT_MIB
) -> CopiedIn:
    """Keep a folder as it is, for `compare` to say later what was done to it in place."""
    bounds = Bounds(limit_mib, MAX_FILES)
    return await asyncio.to_thread(take_in, source, archive, include, bounds, plain=False)


async def compare(
    copied: CopiedIn,
    dest: Path,
    *,
    protect: Iterable[str] = PROTECTED,
    limit_mib: int = LIMIT_MIB,
    git: str | None = None,
) -> CopiedOut:
    """What was done in place to a folder since its snapshot; ``dest`` becomes a copy of it."""
    source = copied.source
    assert source is not None

    def read(tar: Path) -> CopiedOut:
        tree = scan(source, rules=copied.rules, limit_mib=limit_mib)
        write_archive(source, tree, tar, name_left_out=True)
        gate = Gate(copied, Protected(protect))
        return take_out(copied, gate, tar, dest, limit_mib, git)

    with tempfile.TemporaryDirectory(prefix="stockade-out-") as scratch:
        return await asyncio.to_thread(read, Path(scratch) / "out.tar")


async def copy_out(
    session: Session,
    copied: CopiedIn,
    dest: Path,
    *,
    protect: Iterable[str] = PROTECTED,
    limit_mib: int = LIMIT_MIB,
    git: str | None = None,
) -> CopiedOut:
    """Copy the workspace out of a session into a new folder, and tell what changed.

    ``protect`` are the names below which no change leaves the box; ``git`` is for `make_patch`.
    """
    with tempfile.TemporaryDirectory(prefix="stockade-out-") as scratch:
        tar = Path(scratch) / "out.tar"
        await session.get_tree(tar, root="workspace", limit_mib=limit_mib)
        gate = Gate(copied, Protected(protect))
        return await asyncio.to_thread(take_out, copied, gate, tar, dest, limit_mib, git)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may go in."""

    limit_mib: int
    max_files: int


def take_in(
    source: Path, tar: Path, include: Sequence[str], bounds: Bounds, *, plain: bool
) -> CopiedIn:
    """Look at a folder and write its archive."""
    rules = Rules((), include) if plain else Rules.of(source, include)
    tree = scan(
        source,
        rules=rules,
        plain=plain,
        limit_mib=bounds.limit_mib,
        max_files=bounds.max_files,
    )
    return CopiedIn(source, write_archive(source, tree, tar), rules, tar)
