"""The archive of a workspace: written from the operator's folder, read strictly from a box."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from runners.errors import ProtocolError, RunnerError, WorkspaceError
from runners.supervisor.fault import Refusal, refusal
from runners.supervisor.pack import FOLDER, Writer
from runners.supervisor.unpack import unpack
from runners.workspace.name import shown, to_bytes, to_text
from runners.workspace.scan import MAX_FILES, open_source
from runners.workspace.tree import Item, Kind, LeftOut, Tree

__all__ = ["content_of", "read_archive", "write_archive"]

NO_LIMIT = 1 << 62


class Silent(Writer):
    """Leaves out without a word in the archive: a box takes only what is there."""

    def refuse(self, path: bytes, reason: str) -> None:
        """Note something that does not travel."""
        if self.note:
            self.note(path, "refused", 0, 0, reason.encode("utf-8", "replace"))


def write_archive(
    source: Path,
    tree: Tree,
    archive: Path,
    *,
    name_left_out: bool = False,
    also: Callable[[bytes], object] | None = None,
) -> Tree:
    """Write what `scan` found, and tell it again with the digests of what was really written.

    ``name_left_out`` names in the archive what was left out, as a box does. ``also`` is given
    every piece of the archive when the file has it.
    """
    items: dict[str, Item] = {}
    left_out = list(tree.left_out)

    def note(name: bytes, kind: str, mode: int, size: int, extra: bytes) -> None:
        path = to_text(name)
        if kind == "refused":
            left_out.append(LeftOut(path, extra.decode("utf-8", "replace")))
        else:
            items[path] = item_of(kind, mode, size, extra, writer.content)

    def put(data: bytes) -> None:
        file.write(data)
        if also is not None:
            also(data)

    with open(os.open(archive, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        kind = Writer if name_left_out else Silent
        writer = kind(put, NO_LIMIT, note)
        try:
            write_items(source, tree, writer, name_left_out=name_left_out)
        except Refusal as refused:
            where = shown(to_text(refused.path)) if refused.path else shown(str(source))
            raise WorkspaceError(
                f"the workspace cannot be read: {refused.message} ({where})"
            ) from None
    return dataclasses.replace(tree, items=items, left_out=tuple(left_out))


def write_items(source: Path, tree: Tree, writer: Writer, *, name_left_out: bool) -> None:
    """Write the items of a tree: folders and files as they come, links last."""
    folders = Folders(open_source(source))
    try:
        for path, item in tree.items.items():
            name = to_bytes(path)
            if item.kind == "dir":
                writer.folder(name, item.mode)
            elif item.content is not None:
                writer.content_of(name, item.mode, item.content)
            elif item.kind == "file":
                write_file(folders, name, writer)
    finally:
        folders.close()
    for path, item in tree.items.items():
        if item.kind == "link":
            writer.link(to_bytes(path), to_bytes(item.target))
    for left in tree.left_out if name_left_out else ():
        writer.refuse(to_bytes(left.path), left.reason)
    writer.finish()


def write_file(folders: Folders, path: bytes, writer: Writer) -> None:
    """Write one file, or the reason why it stays."""
    try:
        opened, name = folders.of(path)
    except OSError as error:
        writer.refuse(path, refusal(error).message)
    else:
        writer.file(opened, name, path)


class Folders:
    """Open folders from a root down to where the last file was; none is reached over a link."""

    def __init__(self, root: int) -> None:
        self.open = [(b"", root)]

    def of(self, path: bytes) -> tuple[int, bytes]:
        """The open folder that a path lies in, and its last name."""
        wanted, _, name = path.rpartition(b"/")
        if wanted != self.open[-1][0]:
            self.go(wanted)
        return self.open[-1][1], name

    def go(self, wanted: bytes) -> None:
        """Leave folders and enter others until this one is the last."""
        while not (wanted + b"/").startswith(self.open[-1][0] + b"/") and len(self.open) > 1:
            os.close(self.open.pop()[1])
        at = self.open[-1][0]
        below = wanted[len(at) + 1 :] if at else wanted
        for part in below.split(b"/") if below else ():
            at = at + b"/" + part if at else part
            self.open.append((at, os.open(part, FOLDER, dir_fd=self.open[-1][1])))

    def close(self) -> None:
        """Close all of them, the root too."""
        while self.open:
            os.close(self.open.pop()[1])


def item_of(kind: str, mode: int, size: int, extra: bytes, offset: int = -1) -> Item:
    """An item as the packer or unpacker noted it."""
    if kind == "file":
        return Item("file", mode, size, extra.hex(), offset=offset)
    return Item(cast(Kind, kind), mode, target=to_text(extra) if kind == "link" else "")


def content_of(archive: Path, item: Item) -> Iterator[bytes]:
    """The content of a file that an archive of ours holds, in pieces."""
    with archive.open("rb") as file:
        file.seek(item.offset)
        left = item.size
        while left:
            data = file.read(min(left, 1 << 18))
            if not data:
                raise WorkspaceError(f"the archive {archive} was cut")
            left -= len(data)
            yield data


def read_archive(
    archive: Path,
    dest: Path,
    *,
    limit_bytes: int,
    max_files: int = MAX_FILES,
    wanted: Callable[[str], bool] | None = None,
) -> Tree:
    """Unpack what came out of a box into a new folder, and tell all that it holds.

    ``wanted`` says which paths are created; the others are read, checked and told all the same.
    An archive that breaks a rule is a ProtocolError: no supervisor of ours writes one.
    """
    items: dict[str, Item] = {}
    refused: list[LeftOut] = []

    def note(name: bytes, kind: str, mode: int, size: int, extra: bytes) -> None:
        path = to_text(name)
        if kind == "refused":
            refused.append(LeftOut(path, shown(extra.decode("utf-8", "replace"))))
        else:
            items[path] = item_of(kind, mode, size, extra)

    dest.mkdir(mode=0o700)
    with folder(dest) as root, archive.open("rb") as file:
        try:
            unpack(
                root,
                file.read,
                limit_bytes,
                max_files,
                note,
                overlay=False,
                wanted=None if wanted is None else lambda name: wanted(to_text(name)),
            )
        except Refusal as error:
            if error.code == "no-space":  # it is our own disk that is full, not the box's
                raise RunnerError(f"no space is left on the device of {dest}; free some") from None
            raise ProtocolError(f"what came out of the box is refused: {error.message}") from None
    complete = all(item.path != "." for item in refused)
    return Tree(items, tuple(refused), complete)


@contextmanager
def folder(path: Path) -> Iterator[int]:
    """An open folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
