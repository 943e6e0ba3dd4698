"""Keeps what a task wants kept of its box: copied to one place inside, fetched, laid out."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from harness.run.agent import run_own
from harness.run.outgoing import listed
from harness.run.shelf import PUBLISHED, STAGED, Row, Shelf, is_folder
from harness.run.work import Work, tell
from harness.task.task import Collect, Kept
from policies import Limits, Pipeline, Stage
from runners import Session
from runners.workspace import read_archive, shown

__all__ = ["KEPT", "keep_files"]

KEPT = "kept"
"""The folder of a run that holds them, with a list: ``manifest.json``."""

LIMIT_MIB = 64


class Keeps(Protocol):
    """What a task, or one step of it, has to say of this."""

    @property
    def kept(self) -> tuple[Kept, ...]:
        """What is to be kept."""
        ...

    @property
    def collect(self) -> tuple[Collect, ...]:
        """What is run to have it."""
        ...


async def keep_files(session: Session, work: Work, said: Keeps, dest: Path) -> Path | None:
    """Keep what was asked for; a folder with what the box published, None where it did not."""
    for index, hook in enumerate(said.collect):
        limits = replace(Limits(), wall_seconds=hook.seconds)
        await run_own(session, work, f"collect {index}", ("bash", "-c", hook.command), limits)
    logs = session.paths["logs"]
    if said.kept:  # of an earlier step, or planted
        await session.run(Pipeline((Stage(("rm", "-rf", "--", f"{logs}/{STAGED}")),)))
    for index, one in enumerate(said.kept):
        await stage(session, f"{logs}/{STAGED}/{index}", one)
    if not said.kept and await empty(session):
        return None
    archive, tree = work.scratch / "kept.tar", work.scratch / "kept"
    await session.get_tree(archive, root="logs", limit_mib=LIMIT_MIB)
    rows = await asyncio.to_thread(unpack, archive, tree, said.kept, dest)
    for row in rows:
        if row.status != "kept":
            tell(work, "kept", f"{shown(row.source)}: {row.status}")
        elif row.left_out:
            tell(work, "kept", f"not kept: {listed(row.left_out)}")
    published = work.scratch / PUBLISHED
    return published if published.exists() else None


def unpack(archive: Path, tree: Path, kept: tuple[Kept, ...], dest: Path) -> Sequence[Row]:
    """Lay out what came, list it, and set apart what the box published."""
    published = tree.parent / PUBLISHED
    for old in (tree, published):
        shutil.rmtree(old, ignore_errors=True)
    came = read_archive(archive, tree, limit_bytes=LIMIT_MIB << 20)
    archive.unlink()
    rows = Shelf(dest, tree, came.left_out).fill(kept)
    if is_folder(tree / PUBLISHED):
        published.mkdir()
        (tree / PUBLISHED).rename(published / PUBLISHED)
    return rows


async def empty(session: Session) -> bool:
    """Whether the box published nothing."""
    from runners import Fault

    found = await session.list_dir(PUBLISHED, root="logs", limit=1)
    return isinstance(found, Fault) or not found.entries


async def stage(session: Session, place: str, one: Kept) -> None:
    """Copy a path of the box to where it can be fetched from; links stay links."""
    await session.run(Pipeline((Stage(("mkdir", "-p", place)),)))
    await session.run(Pipeline((Stage(("cp", "-a", "--", one.source, f"{place}/it")),)))
