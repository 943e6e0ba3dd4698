"""Files of a folder exchanged for others, all or none.

What is new is written first, under other names: what a full disk or a quota refuses is refused
there. Then renames alone put it in its place, and what was there aside; when one fails, all are
undone. What stands aside lies in a folder of its own, on the same file system.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial

from runners.supervisor.files import CREATE
from runners.supervisor.walk import Walk
from runners.workspace.below import mode_for, open_folder, opened
from runners.workspace.changes import Change
from runners.workspace.name import to_bytes, to_text
from runners.workspace.patch import Content
from runners.workspace.tree import Item

__all__ = ["Exchange", "parents"]


@dataclass(frozen=True, slots=True)
class Room:
    """A folder for what stands aside: its path, and open."""

    path: str
    folder: int


class Exchange:
    """Makes changes below an open folder, or undoes those that it has made.

    Attributes:
        at: the path that is being worked on.
        lost: paths that could not be put back; what was there stays aside.
    """

    def __init__(self, root: int) -> None:
        self.root = root
        self.at = ""
        self.lost: list[str] = []
        self.rooms: dict[int, Room] = {}
        self.staged: dict[str, str] = {}
        self.undo: list[tuple[str, Callable[[], object]]] = []
        self.count = 0

    def make(self, changes: Sequence[Change], content: Content) -> None:
        """Make all changes; after an error the folder is as it was, but for what is ``lost``."""
        try:
            self.stage(changes, content)
            self.swap(changes)
        except BaseException:
            self.put_back()
            raise
        finally:
            self.leave()
        for change in changes:
            if change.after is None:
                self.prune(change.path)

    def stage(self, changes: Iterable[Change], content: Content) -> None:
        """Write everything that is new, aside."""
        for change in changes:
            self.at = change.path
            if change.after is None:
                continue
            near, name = self.nearest(change.path), f".stockade-{os.urandom(8).hex()}"
            with folder_at(self.root, near) as folder:
                self.staged[change.path] = f"{near}/{name}".lstrip("/")
                if change.after.kind == "link":
                    os.symlink(to_bytes(change.after.target), name, dir_fd=folder)
                    continue
                mode = self.mode(change.path, change.after)
                with open(os.open(name, CREATE, 0o666, dir_fd=folder), "wb") as file:
                    file.writelines(content(change.path, change.after))
                    if mode is not None:
                        os.fchmod(file.fileno(), mode)

    def swap(self, changes: Sequence[Change]) -> None:
        """Put aside what goes, and what is new in its place."""
        for change in reversed(changes):
            self.at = change.path
            if change.before is not None and not keeps_kind(change):
                self.put_aside(change.path, copy=False)
        for change in changes:
            self.at = change.path
            if change.after is None:
                continue
            if change.before is None:
                self.clear(change.path)
            elif keeps_kind(change):
                self.put_aside(change.path, copy=True)
            self.put_in_place(change.path)

    def put_in_place(self, path: str) -> None:
        """Give what was staged its name; the folders above it are made."""
        above, _, name = path.rpartition("/")
        for parent in parents(path):
            self.make_folder(parent)
        near, _, staged = self.staged[path].rpartition("/")
        with folder_at(self.root, near) as source, folder_at(self.root, above) as folder:
            os.rename(staged, to_bytes(name), src_dir_fd=source, dst_dir_fd=folder)
        del self.staged[path]
        self.undo.append((path, partial(self.discard, path)))

    def put_aside(self, path: str, *, copy: bool) -> None:
        """Keep what is at a path; as a copy (a hard link), if it can be, no moment lacks it."""
        above, _, name = path.rpartition("/")
        room, aside = self.room(path).folder, self.new_name()
        with folder_at(self.root, above) as folder:
            if not (copy and linked(folder, to_bytes(name), room, aside)):
                os.rename(to_bytes(name), aside, src_dir_fd=folder, dst_dir_fd=room)
        self.undo.append((path, partial(self.restore, path, room, aside)))

    def restore(self, path: str, room: int, aside: bytes) -> None:
        """Undo `put_aside`."""
        above, _, name = path.rpartition("/")
        with folder_at(self.root, above) as folder:
            os.rename(aside, to_bytes(name), src_dir_fd=room, dst_dir_fd=folder)

    def discard(self, path: str) -> None:
        """Remove a file or link."""
        above, _, name = path.rpartition("/")
        with folder_at(self.root, above) as folder:
            os.unlink(to_bytes(name), dir_fd=folder)

    def make_folder(self, path: str) -> None:
        """Make a folder, if it is not there."""
        above, _, name = path.rpartition("/")
        with folder_at(self.root, above) as folder, suppress(FileExistsError):
            os.mkdir(to_bytes(name), dir_fd=folder)
            self.undo.append((path, partial(self.remove_folder, path)))

    def remove_folder(self, path: str) -> None:
        """Undo `make_folder`."""
        above, _, name = path.rpartition("/")
        with folder_at(self.root, above) as folder:
            os.rmdir(to_bytes(name), dir_fd=folder)

    def clear(self, path: str) -> None:
        """Remove the empty folders that stand where a new file or link goes."""
        try:
            with folder_at(self.root, path) as folder:
                below = [to_text(item.path) for item in Walk(folder, 1_000_000)]
        except OSError:  # nothing there, or nothing that is a folder
            return
        for empty in [*(f"{path}/{name}" for name in reversed(below)), path]:
            with folder_at(self.root, empty) as folder:
                status = os.fstat(folder)
            self.remove_folder(empty)
            self.undo.append((empty, partial(self.return_folder, empty, status)))

    def return_folder(self, path: str, status: os.stat_result) -> None:
        """Undo the removal of an empty folder."""
        self.make_folder(path)
        with folder_at(self.root, path) as folder:
            with suppress(OSError):
                os.fchown(folder, status.st_uid, status.st_gid)
            os.fchmod(folder, status.st_mode & 0o7777)

    def prune(self, path: str) -> None:
        """Remove the folders above a path that nothing is left in."""
        with suppress(OSError):  # it is not empty, or has to stay
            for parent in reversed(parents(path)):
                self.remove_folder(parent)

    def put_back(self) -> None:
        """Undo everything, the last first."""
        steps, self.undo = self.undo, []
        for path, step in reversed(steps):
            try:
                step()
            except OSError:
                self.lost.append(path)

    def leave(self) -> None:
        """Remove what was not put in its place, and what stands aside unless it is ``lost``."""
        for path in self.staged.values():
            with suppress(OSError):
                self.discard(path)
        for room in self.rooms.values():
            with suppress(OSError):
                if not self.lost:
                    for name in os.listdir(room.folder):
                        os.unlink(name, dir_fd=room.folder)
                    self.remove_folder(room.path)
            os.close(room.folder)

    def mode(self, path: str, item: Item) -> int | None:
        """The mode of a new file: that of the one it replaces, but for executability."""
        above, _, name = path.rpartition("/")
        try:
            with folder_at(self.root, above) as folder:
                return mode_for(folder, name, item)
        except OSError:  # the folder is not there yet
            return 0o755 if item.executable else None

    def nearest(self, path: str) -> str:
        """The lowest folder above a path that is there: whose group and list a new file gets."""
        for parent in reversed(parents(path)):
            with suppress(OSError), folder_at(self.root, parent):
                return parent
        return ""

    def room(self, path: str) -> Room:
        """Where things of a path stand aside: in the topmost folder of its file system."""
        device = -1
        for parent in ["", *parents(path)]:
            try:
                folder = open_folder(self.root, parent)
            except OSError:  # it is not there yet, or not yet a folder
                break
            try:
                device = os.fstat(folder).st_dev
                if device not in self.rooms:
                    self.rooms[device] = self.new_room(parent, folder)
            finally:
                os.close(folder)
        return self.rooms[device]

    def new_room(self, above: str, folder: int) -> Room:
        """Make a folder that nobody else uses or looks into."""
        name = f".stockade-{os.urandom(8).hex()}"
        os.mkdir(name, 0o700, dir_fd=folder)
        path = f"{above}/{name}".lstrip("/")
        return Room(path, open_folder(self.root, path))

    def new_name(self) -> bytes:
        """A name for one more thing aside."""
        self.count += 1
        return b"%d" % self.count


def keeps_kind(change: Change) -> bool:
    """Whether a file stays a file, a link a link."""
    before, after = change.before, change.after
    return before is not None and after is not None and before.kind == after.kind


def linked(folder: int, name: bytes, other: int, aside: bytes) -> bool:
    """Give a file or link a second name, where the file system and its owner allow it."""
    try:
        os.link(name, aside, src_dir_fd=folder, dst_dir_fd=other, follow_symlinks=False)
    except OSError:
        return False
    return True


def parents(path: str) -> list[str]:
    """The folders above a path, the topmost first."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def folder_at(root: int, path: str) -> AbstractContextManager[int]:
    """An open folder below the root, reached without following any link."""
    return opened(open_folder(root, path))
