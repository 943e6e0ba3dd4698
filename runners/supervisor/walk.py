"""Walking a tree of a program by descriptors: no link followed, no path too long, no recursion.

A walk that stops silently would hide files, so every bound that was reached is told.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Item", "Walk"]

MAX_DEPTH = 100  # one descriptor a level is held; deeper trees are reported, not walked
MAX_PATH = 4000  # what git and every tool can still open
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Item:
    """One name found: ``folder`` is the open descriptor of its folder, valid until the next."""

    __slots__ = ("depth", "folder", "kind", "name", "path")

    def __init__(self, folder: int, path: bytes, name: bytes, kind: str, depth: int) -> None:
        self.folder = folder
        self.path = path
        self.name = name
        self.kind = kind  # file, dir, link, other
        self.depth = depth


class Walk:
    """An iterator over everything below an open folder, in byte order, folders before theirs.

    ``bounds`` collects what was not walked, as pairs of a path and a reason.
    """

    def __init__(self, folder: int, max_entries: int, prefix: bytes = b"") -> None:
        self.bounds = []  # type: list[tuple[bytes, str]]
        self.left = max_entries
        self.root = folder
        self.prefix = prefix
        self.skipping = False

    def skip(self) -> None:
        """Do not enter the folder that was yielded last."""
        self.skipping = True

    def __iter__(self) -> "Iterator[Item]":
        """Yield every name; the descriptors of the open folders are closed at the end."""
        top = os.open(b".", FOLDER, dir_fd=self.root)
        prefix = self.prefix + b"/" if self.prefix else b""
        stack = [(top, self.names(top, self.prefix), prefix)]
        try:
            while stack:
                folder, names, prefix = stack[-1]
                if not names:
                    os.close(folder)
                    stack.pop()
                    continue
                name, kind = names.pop()
                path = prefix + name
                self.skipping = False
                yield Item(folder, path, name, kind, len(stack) - 1)
                if kind == "dir" and not self.skipping:
                    below = self.enter(folder, name, path, len(stack))
                    if below >= 0:
                        stack.append((below, self.names(below, path), path + b"/"))
        finally:
            for folder, _, _ in stack:
                os.close(folder)

    def enter(self, folder: int, name: bytes, path: bytes, depth: int) -> int:
        """Open a folder below another one, or -1 with the reason noted."""
        if depth > MAX_DEPTH or len(path) > MAX_PATH:
            self.bounds.append((path[:MAX_PATH], "deeper than %d folders" % MAX_DEPTH))
            return -1
        try:
            return os.open(name, FOLDER, dir_fd=folder)
        except OSError as error:
            self.bounds.append((path, "cannot be opened: %s" % (error.strerror or error)))
            return -1

    def names(self, folder: int, path: bytes) -> "list[tuple[bytes, str]]":
        """Names and kinds of an open folder, last one first, within the bound on entries.

        A file that is renamed meanwhile may be listed twice.
        """
        found = {}
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if self.left <= 0:
                        self.bounds.append((path or b".", "too many files"))
                        break
                    self.left -= 1
                    found[os.fsencode(entry.name)] = kind_of_entry(entry)
        except OSError as error:
            self.bounds.append((path or b".", "cannot be listed: %s" % (error.strerror or error)))
        return sorted(found.items(), reverse=True)


def kind_of_entry(entry: "os.DirEntry[str]") -> str:
    """What a folder says of a name, mostly without asking the file."""
    if entry.is_file(follow_symlinks=False):
        return "file"
    if entry.is_dir(follow_symlinks=False):
        return "dir"
    return "link" if entry.is_symlink() else "other"
