"""Removes a folder that programs filled, however deep, odd or closed it is.

By descriptors and without recursion: a tree of three thousand levels is no deeper for us than
one, since the children of each folder are first moved up. No process of the folder's programs may
be alive, so that nobody swaps what we look at.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ["remove_folder"]

OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
OPEN_MODE = 0o700


def remove_folder(folder: Path) -> None:
    """Remove a folder and all that is in it; one that is not there is fine."""
    try:
        top = os.open(folder, OPEN)
    except FileNotFoundError:
        return
    try:
        empty(top)
    finally:
        os.close(top)
    folder.rmdir()


def empty(top: int) -> None:
    """Remove all names of an open folder."""
    serial = 0
    while names := os.listdir(top):
        for name in names:
            if not stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=top)
                continue
            serial = hoist(top, name, serial)
            os.rmdir(name, dir_fd=top)


def hoist(top: int, name: str, serial: int) -> int:
    """Move folders below one of top's folders into top, and remove the rest; the next number."""
    os.chmod(name, OPEN_MODE, dir_fd=top)  # a program may have closed it to its owner
    below = os.open(name, OPEN, dir_fd=top)
    try:
        for child in os.listdir(below):  # noqa: PTH208 - of a descriptor
            if not stat.S_ISDIR(os.stat(child, dir_fd=below, follow_symlinks=False).st_mode):
                os.unlink(child, dir_fd=below)
                continue
            os.chmod(child, OPEN_MODE, dir_fd=below)  # moving a folder changes it
            while exists(top, str(serial)):
                serial += 1
            os.rename(child, str(serial), src_dir_fd=below, dst_dir_fd=top)
    finally:
        os.close(below)
    return serial


def exists(top: int, name: str) -> bool:
    """Whether a name is taken in a folder."""
    try:
        os.stat(name, dir_fd=top, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
