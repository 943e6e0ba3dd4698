"""Keeps what a task wants kept of its box: copied to one place inside, fetched, laid out."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from harness.run.agent import run_own
from harness.run.work import Work, tell
from harness.task.task import Collect, Kept
from policies import Limits, Pipeline, Stage
from runners import Session
from runners.workspace import read_archive

__all__ = ["KEPT", "keep_files"]

KEPT = "kept"
"""The folder of a run that holds them, with a list: ``manifest.json``."""

PUBLISHED = "artifacts"
"""The folder below the box's logs whose content is always kept."""

STAGED = ".kept"
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
    for index, one in enumerate(said.kept):
        await stage(session, f"{logs}/{STAGED}/{index}", one)
    if not said.kept and await empty(session):
        return None
    archive, tree = work.scratch / "kept.tar", work.scratch / "kept"
    await session.get_tree(archive, root="logs", limit_mib=LIMIT_MIB)
    rows = await asyncio.to_thread(unpack, archive, tree, said.kept, dest)
    for row in rows:
        if row["status"] != "kept":
            tell(work, "kept", f"{row['source']}: {row['status']}")
    published = work.scratch / PUBLISHED
    return published if published.exists() else None


def unpack(
    archive: Path, tree: Path, kept: tuple[Kept, ...], dest: Path
) -> Sequence[dict[str, Any]]:
    """Lay out what came, list it, and set apart what the box published."""
    published = tree.parent / PUBLISHED
    for old in (tree, published):
        shutil.rmtree(old, ignore_errors=True)
    read_archive(archive, tree, limit_bytes=LIMIT_MIB << 20)
    archive.unlink()
    rows = list(lay_out(tree, kept, dest))
    dest.mkdir(parents=True, exist_ok=True)
    (dest / "manifest.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    if (tree / PUBLISHED).is_dir():
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


def lay_out(tree: Path, kept: tuple[Kept, ...], dest: Path) -> Iterator[dict[str, Any]]:
    """Move what was fetched to where it is asked for; the first claim on a place wins."""
    taken: list[PurePosixPath] = []
    for index, one in enumerate(kept):
        found, place = tree / STAGED / str(index) / "it", PurePosixPath(one.place)
        status = "kept"
        if any(overlap(place, other) for other in taken):
            status = "its place is taken"
        elif not found.exists():
            status = "is not there"
        else:
            taken.append(place)
            copy(found, dest / place, one.exclude)
        yield {"source": one.source, "destination": one.place, "status": status}
    if (tree / PUBLISHED).is_dir():
        copy(tree / PUBLISHED, dest / "logs" / PUBLISHED, ())
        where = f"logs/{PUBLISHED}"
        yield {"source": f"/{where}", "destination": where, "status": "kept"}


def overlap(one: PurePosixPath, two: PurePosixPath) -> bool:
    """Whether one path lies below the other."""
    return one == two or one in two.parents or two in one.parents


def copy(found: Path, place: Path, exclude: tuple[str, ...]) -> None:
    """A file or a folder without what is excluded; links are not followed."""

    def unwanted(folder: str, names: list[str]) -> set[str]:
        below = Path(folder).relative_to(found)
        return {
            name
            for name in names
            if any(
                fnmatchcase(name, pattern) or fnmatchcase(str(below / name), pattern)
                for pattern in exclude
            )
        }

    place.parent.mkdir(parents=True, exist_ok=True)
    if found.is_dir() and not found.is_symlink():
        shutil.copytree(found, place, symlinks=True, ignore=unwanted, dirs_exist_ok=True)
    else:
        shutil.copy2(found, place, follow_symlinks=False)
