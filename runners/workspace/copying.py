"""Copy in, copy out: the operator's folder into a session, the result and a patch out of it."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from runners.contract import Root, Session
from runners.errors import WorkspaceError
from runners.supervisor.fault import refusal
from runners.supervisor.files import write_all
from runners.workspace.archive import write_archive
from runners.workspace.copied import CopiedIn, CopiedOut
from runners.workspace.leave import Rules
from runners.workspace.protect import PROTECTED, Protected
from runners.workspace.scan import MAX_FILES, scan
from runners.workspace.scratch import scratch_folder
from runners.workspace.tree import Tree

__all__ = ["Survey", "compare", "copy_in", "copy_out", "put_folder", "snapshot", "survey"]

LIMIT_MIB = 512
F_SETPIPE_SZ = 1031
DENIED = refusal(PermissionError(errno.EACCES, "")).message
"""Why an unreadable file does not travel. Of a workspace it is left out; a task needs all of it."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What would travel of a folder, looked at before there is a box to put it into."""

    source: Path
    tree: Tree
    rules: Rules


async def survey(
    source: Path,
    *,
    include: Sequence[str] = (),
    plain: bool = False,
    limit_mib: int = LIMIT_MIB,
    max_files: int = MAX_FILES,
) -> Survey:
    """Look at a folder; the arguments are those of `copy_in`."""
    rules = Rules((), include) if plain else await asyncio.to_thread(Rules.of, source, include)
    look = partial(scan, rules=rules, plain=plain, limit_mib=limit_mib, max_files=max_files)
    return Survey(source, await asyncio.to_thread(look, source), rules)


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
    surveyed: Survey | None = None,
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
        surveyed: what `survey` found with the same arguments, if it was asked.
    """
    if source is None:
        return CopiedIn(None, Tree(), Rules((), include), archive)
    seen = surveyed or await survey(
        source, include=include, plain=plain, limit_mib=limit_mib, max_files=max_files
    )
    tree, rules = seen.tree, seen.rules
    tree = await write_while_putting(session, source, tree, archive or Path(os.devnull), root)
    return CopiedIn(source, tree, rules, archive)


async def write_while_putting(
    session: Session, source: Path, tree: Tree, archive: Path, root: Root
) -> Tree:
    """Write the archive while the box unpacks it: what is written goes through a pipe as well."""
    out, into = os.pipe()
    with suppress(OSError):  # a larger pipe is faster, but a user may not have many
        fcntl.fcntl(into, F_SETPIPE_SZ, 1 << 20)
    # A thread of its own: shared ones may all be writers, each waiting for a reader without one.
    thread = ThreadPoolExecutor(1, "copy-in")
    loop = asyncio.get_running_loop()
    writing = loop.run_in_executor(thread, write_both, source, tree, archive, into)
    thread.shutdown(wait=False)
    try:
        await session.put_tree(Path(f"/dev/fd/{out}"), root=root)
    except BaseException:
        os.close(out)
        out = -1
        # The folder's own trouble explains the box's, which only saw a torn archive.
        await asyncio.shield(writing)
        raise
    finally:
        if out >= 0:
            os.close(out)
    return await writing


class BoxGone(Exception):  # noqa: N818 - it ends a thread whose answer nobody needs
    """The box takes no more of an archive."""


def write_both(source: Path, tree: Tree, archive: Path, into: int) -> Tree:
    """Write the archive into its file and into a pipe, which is closed in the end."""

    def send(data: bytes) -> None:
        try:
            write_all(into, data)
        except BrokenPipeError:
            raise BoxGone from None

    try:
        return write_archive(source, tree, archive, also=send)
    except BoxGone:  # whoever put the archive into the box says why
        return tree
    finally:
        os.close(into)


async def put_folder(session: Session, source: Path, *, root: Root) -> CopiedIn:
    """Copy a folder of a task, or a result, into a root: nothing of it is left out by rule."""
    copied = await copy_in(session, source, root=root, plain=True)
    for left in copied.tree.left_out:
        if left.reason == DENIED:
            raise WorkspaceError(f"{source / left.path} cannot be read; make it readable")
    return copied


async def snapshot(
    source: Path, archive: Path, *, include: Sequence[str] = (), limit_mib: int = LIMIT_MIB
) -> CopiedIn:
    """Keep a folder as it is, for `compare` to say later what was done to it in place."""
    rules = await asyncio.to_thread(Rules.of, source, include)
    tree = await asyncio.to_thread(partial(scan, rules=rules, limit_mib=limit_mib), source)
    tree = await asyncio.to_thread(write_archive, source, tree, archive)
    return CopiedIn(source, tree, rules, archive)


async def compare(
    copied: CopiedIn,
    dest: Path,
    *,
    protect: Iterable[str] = PROTECTED,
    limit_mib: int = LIMIT_MIB,
    git: str | None = None,
) -> CopiedOut:
    """What was done in place to a folder since its snapshot; ``dest`` becomes a copy of it."""
    from runners.workspace.result import Gate, take_out

    source = copied.source
    assert source is not None

    def read(tar: Path) -> CopiedOut:
        tree = scan(source, rules=copied.rules, limit_mib=limit_mib)
        write_archive(source, tree, tar, name_left_out=True)
        gate = Gate(copied, Protected(protect))
        return take_out(copied, gate, tar, dest, limit_mib, git)

    with scratch_folder("out") as scratch:
        return await asyncio.to_thread(read, scratch / "out.tar")


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
    from runners.workspace.result import Gate, take_out

    with scratch_folder("out") as scratch:
        tar = scratch / "out.tar"
        await session.get_tree(tar, root="workspace", limit_mib=limit_mib)
        gate = Gate(copied, Protected(protect))
        return await asyncio.to_thread(take_out, copied, gate, tar, dest, limit_mib, git)
