"""The folder of a run with what was kept of its box: made anew, and written without any link.

A program chose every name and every link of what is laid out here, and a task every place. So no
two entries share a place, and a link is judged by where it lies in the end.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from harness.task import Kept
from harness.task.artifact import MANIFEST
from runners.workspace import LeftOut, lay, shown

__all__ = ["PUBLISHED", "STAGED", "Row", "Shelf", "is_folder"]

PUBLISHED = "artifacts"
"""The folder below the box's logs whose content is always kept."""

STAGED = ".kept"
"""The folder below the box's logs that entries are copied to."""

TAKEN, MISSING = "its place is taken", "is not there"


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one entry; ``left_out``: what of it was not kept, by its path in the box."""

    source: str
    place: str
    status: str
    left_out: tuple[LeftOut, ...] = ()

    def record(self) -> dict[str, Any]:
        """For the list."""
        record = {"source": self.source, "destination": self.place, "status": self.status}
        if not self.left_out:
            return record
        named = [{"path": shown(one.path), "reason": one.reason} for one in self.left_out]
        return {**record, "left_out": named}


class Shelf:
    """Takes what was fetched of a box, entry by entry; the first claim on a place wins.

    Args:
        folder: is made anew.
        tree: what was fetched.
        left_out: what stayed in the box, by its path in the tree.
    """

    def __init__(self, folder: Path, tree: Path, left_out: Sequence[LeftOut]) -> None:
        self.folder = folder
        self.tree = tree
        self.left_out = left_out
        self.taken = [PurePosixPath(MANIFEST)]
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()

    def fill(self, kept: Sequence[Kept]) -> list[Row]:
        """Lay out what a task wants kept and what the box published, and write the list."""
        rows = [self.put(f"{STAGED}/{index}/it", one) for index, one in enumerate(kept)]
        where = f"logs/{PUBLISHED}"
        asked = any(row.source == f"/{where}" and row.place == where for row in rows)
        if is_folder(self.tree / PUBLISHED) and not asked:
            rows.append(self.put(PUBLISHED, Kept(f"/{where}", where)))
        text = json.dumps([row.record() for row in rows], indent=2) + "\n"
        with (self.folder / MANIFEST).open("x", encoding="utf-8") as file:
            file.write(text)
        return rows

    def put(self, path: str, one: Kept) -> Row:
        """Copy one entry to its place, or say why not."""
        row, place = Row(one.source, one.place, TAKEN), PurePosixPath(one.place)
        if any(overlap(place, other) for other in self.taken):
            return row
        try:
            found = lay(self.tree, path, self.folder, str(place), excluded=unwanted(one.exclude))
        except (FileNotFoundError, NotADirectoryError):
            found = [LeftOut("", MISSING)]
        self.taken.append(place)
        found += self.refused(path)
        whole = [item.reason for item in found if not item.path]
        left_out = tuple(replace(item, path=f"{one.source}/{item.path}") for item in found)
        return (
            replace(row, status=whole[-1])
            if whole
            else replace(row, status="kept", left_out=left_out)
        )

    def refused(self, path: str) -> list[LeftOut]:
        """What stayed in the box of an entry, by its path below it."""
        return [
            replace(item, path=item.path[len(path) + 1 :])
            for item in self.left_out
            if item.path == path or item.path.startswith(f"{path}/")
        ]


def overlap(one: PurePosixPath, two: PurePosixPath) -> bool:
    """Whether one path lies below the other."""
    return one == two or one in two.parents or two in one.parents


def is_folder(path: Path) -> bool:
    """Whether a folder itself is there, not a link to one."""
    return path.is_dir() and not path.is_symlink()


def unwanted(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Whether a path below an entry is to stay behind: by its name, or by the whole of it."""

    def excluded(path: str) -> bool:
        name = path.rpartition("/")[2]
        return any(fnmatchcase(name, one) or fnmatchcase(path, one) for one in patterns)

    return excluded
