"""Folders and files below the operator's folder, reached without following any link."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from runners.supervisor.files import CREATE, READ
from runners.workspace.name import to_bytes, to_text
from runners.workspace.tree import Item

__all__ = ["open_folder", "opened", "put_file", "put_link", "remove", "state_at"]

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_folder(root: int, path: str, *, make: bool = False) -> int:
    """The folder at a path; the caller closes it. A link on the way is an OSError."""
    descriptor = os.dup(root)
    for part in to_bytes(path).split(b"/") if path else ():
        if make:
            with suppress(FileExistsError):
                os.mkdir(part, 0o777, dir_fd=descriptor)
        try:
            following = os.open(part, FOLDER, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = following
    return descriptor


@contextmanager
def opened(descriptor: int) -> Iterator[int]:
    """A descriptor that is closed in the end."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def state_at(root: int, path: str) -> Item | None:
    """What is at a path now, with its digest; None where nothing is."""
    above, _, name = path.rpartition("/")
    try:
        folder = open_folder(root, above)
    except FileNotFoundError:
        return None
    try:
        status = os.stat(to_bytes(name), dir_fd=folder, follow_symlinks=False)
        mode = stat.S_IMODE(status.st_mode) & 0o777
        if stat.S_ISDIR(status.st_mode):
            return Item("dir", mode)
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(to_bytes(name), dir_fd=folder)
            return Item("link", 0o777, target=to_text(target))
        return Item("file", mode, status.st_size, digest_at(folder, name))
    except FileNotFoundError:
        return None
    finally:
        os.close(folder)


def digest_at(folder: int, name: str) -> str:
    """The sha256 of a regular file; of anything else something that equals no digest."""
    descriptor = os.open(to_bytes(name), READ | os.O_NOFOLLOW, dir_fd=folder)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return "not a file"
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove(root: int, path: str) -> None:
    """Remove a file or link, and the folders above that are empty then."""
    while path:
        above, _, name = path.rpartition("/")
        folder = open_folder(root, above)
        try:
            status = os.stat(to_bytes(name), dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                os.rmdir(to_bytes(name), dir_fd=folder)
            else:
                os.unlink(to_bytes(name), dir_fd=folder)
            if os.listdir(folder):
                return
        finally:
            os.close(folder)
        path = above


def put_file(root: int, path: str, item: Item, pieces: Iterable[bytes]) -> None:
    """Write a file by a new one and a rename; an old one's mode is kept but for executability."""
    above, _, name = path.rpartition("/")
    folder = open_folder(root, above, make=True)
    temporary = b".stockade-" + os.urandom(8).hex().encode()
    try:
        mode = mode_for(folder, name, item)
        with open(os.open(temporary, CREATE, 0o666, dir_fd=folder), "wb") as file:
            file.writelines(pieces)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
        os.rename(temporary, to_bytes(name), src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    finally:
        os.close(folder)


def mode_for(folder: int, name: str, item: Item) -> int | None:
    """The mode of a written file; None: as the system gives it to a new one."""
    try:
        status = os.stat(to_bytes(name), dir_fd=folder, follow_symlinks=False)
        old = stat.S_IMODE(status.st_mode) if stat.S_ISREG(status.st_mode) else None
    except FileNotFoundError:
        old = None
    if old is None:
        return 0o755 if item.executable else None
    readable = (old & 0o444) >> 2
    return old | readable if item.executable else old & ~0o111


def put_link(root: int, path: str, item: Item) -> None:
    """Create a symbolic link; an old file or link goes first."""
    above, _, name = path.rpartition("/")
    folder = open_folder(root, above, make=True)
    try:
        with suppress(FileNotFoundError):
            os.unlink(to_bytes(name), dir_fd=folder)
        os.symlink(to_bytes(item.target), to_bytes(name), dir_fd=folder)
    finally:
        os.close(folder)
