"""One folder laid into another by descriptors: no link is followed, on neither side."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from runners.supervisor.files import CHUNK, READ, kind_of
from runners.supervisor.tar import leads_out
from runners.supervisor.walk import Walk
from runners.workspace.below import open_folder, opened, put_file, put_link
from runners.workspace.name import to_bytes, to_text
from runners.workspace.scan import MAX_SEEN, open_source
from runners.workspace.tree import Item, LeftOut

__all__ = ["LEADS_OUT", "lay"]

LEADS_OUT = "a link that leads out"
IN_THE_WAY = {errno.ELOOP, errno.ENOTDIR}


def nothing(_: str) -> bool:
    """Leave out no path."""
    return False


def lay(
    source: Path,
    path: str,
    dest: Path,
    place: str,
    *,
    excluded: Callable[[str], bool] = nothing,
) -> list[LeftOut]:
    """Copy what lies at a path below one folder to a place below another; what did not go along.

    ``excluded`` is asked of every path below ``path``. A file or link that stands at the place
    already is replaced, a folder gets what it lacks. A link is judged by where it lies in the end:
    one that could lead out of ``dest`` stays behind. FileNotFoundError: nothing is there.
    """
    with opened(open_source(source)) as below, opened(open_source(dest)) as root:
        above, _, name = path.rpartition("/")
        with opened(open_folder(below, above)) as folder:
            if not path:
                return lay_folder(folder, root, place, excluded)
            kind = kind_of(os.stat(to_bytes(name), dir_fd=folder, follow_symlinks=False).st_mode)
            if kind == "dir":
                with opened(open_folder(folder, name)) as found:
                    return lay_folder(found, root, place, excluded)
            reason = lay_file(folder, to_bytes(name), kind, root, place)
            return [LeftOut("", reason)] if reason else []


def lay_folder(
    source: int, root: int, place: str, excluded: Callable[[str], bool]
) -> list[LeftOut]:
    """Copy the content of an open folder."""
    make_folder(root, place)
    left_out = []
    walk = Walk(source, MAX_SEEN)
    for found in walk:
        path = to_text(found.path)
        goal = f"{place}/{path}" if place else path
        if excluded(path):
            walk.skip()
        elif found.kind == "dir":
            make_folder(root, goal)
        else:
            reason = lay_file(found.folder, found.name, found.kind, root, goal)
            if reason:
                left_out.append(LeftOut(path, reason))
    return left_out + [LeftOut(to_text(path), reason) for path, reason in walk.bounds]


def lay_file(folder: int, name: bytes, kind: str, root: int, place: str) -> str:
    """Copy one file or link; the reason why it stays behind, or ""."""
    if kind == "link":
        target = os.readlink(name, dir_fd=folder)
        if leads_out(to_bytes(place), target):
            return LEADS_OUT
        put_link(root, place, Item("link", target=to_text(target)))
        return ""
    if kind != "file":
        return f"a {kind}"
    with opened(os.open(name, READ | os.O_NOFOLLOW, dir_fd=folder)) as file:
        mode = stat.S_IMODE(os.fstat(file).st_mode)
        put_file(root, place, Item("file", mode), pieces_of(file))
    return ""


def pieces_of(file: int) -> Iterator[bytes]:
    """The content of an open file."""
    while piece := os.read(file, CHUNK):
        yield piece


def make_folder(root: int, path: str) -> None:
    """Make a folder whose parents are there, in place of a file or link of its name."""
    try:
        os.close(open_folder(root, path, make=True))
    except OSError as error:
        if error.errno not in IN_THE_WAY:
            raise
        above, _, name = path.rpartition("/")
        with opened(open_folder(root, above)) as folder, suppress(FileNotFoundError):
            os.unlink(to_bytes(name), dir_fd=folder)
        os.close(open_folder(root, path, make=True))
