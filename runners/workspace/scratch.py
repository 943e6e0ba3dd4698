"""Folders for copies that are needed for a moment: named by their owner, swept when it is dead."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runners.owner import Owner

__all__ = ["scratch_folder", "sweep_folders"]

NAME = re.compile(r"stockade-[a-z]+-(o1:.+)-[a-z0-9_]{8}")


@contextmanager
def scratch_folder(kind: str) -> Iterator[Path]:
    """A new folder that only this user can enter, gone at the end.

    A killed process leaves it, and with it perhaps a copy of the workspace; so the name says who
    the owner is, and a later start removes it.
    """
    with tempfile.TemporaryDirectory(prefix=f"stockade-{kind}-{Owner.me()}-") as folder:
        yield Path(folder)


def sweep_folders(root: Path | None = None) -> list[str]:
    """Remove the folders whose owner is surely dead; their names."""
    swept = []
    for path in sorted((root or Path(tempfile.gettempdir())).glob("stockade-*-o1:*")):
        found = NAME.fullmatch(path.name)
        if found is not None and is_ours(path) and is_dead(found[1]):
            shutil.rmtree(path, ignore_errors=True)
            swept.append(f"folder {path.name}")
    return swept


def is_ours(path: Path) -> bool:
    """Whether it is a folder of this user: anybody can make names in a shared place."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def is_dead(owner: str) -> bool:
    try:
        return Owner.parse(owner).state() == "dead"
    except ValueError:
        return False
