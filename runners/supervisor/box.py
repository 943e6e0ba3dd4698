"""What the supervisor was told about its box: the SETUP values, with the roots opened."""

import errno
import posix as os

from runners.supervisor import path

TYPE_CHECKING = False
if TYPE_CHECKING:  # imports for annotations cost milliseconds at start
    from typing import Any

__all__ = ["Box", "Root"]


class Root:
    """A folder that can be named from outside, held open."""

    __slots__ = ("fd", "path")

    def __init__(self, name: bytes) -> None:
        self.path = name.rstrip(b"/") or b"/"
        self.fd = os.open(name, path.FOLDER)


class Box:
    """The settings; the keys of ``settings`` are the fields of ``runners.setup.Setup``."""

    def __init__(self, settings: "dict[str, Any]") -> None:
        self.settings = settings
        self.env = dict(settings["env"])
        self.limits = settings["limits"]
        self.null = -1
        self.key = (0, 0)  # see filter.program
        self.roots: dict[str, Root] = {}

    def open_roots(self) -> None:
        """Hold the null device and the roots."""
        self.null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        for name, folder in self.settings["roots"].items():
            self.roots[name] = Root(folder.encode("utf-8", "surrogateescape"))

    def root(self, name: str) -> Root:
        """The root of this name; the harness names no other."""
        return self.roots[name]

    def locate(self, name: bytes, cwd: bytes = b".") -> "tuple[Root, bytes]":
        """The root that a path lies below, as text, and the path relative to it.

        A relative path begins at ``cwd``, which is itself relative to the workspace or absolute.
        OSError EXDEV: below no root.
        """
        if name[:1] != b"/":
            name = name if cwd in (b"", b".") else cwd + b"/" + name
            if name[:1] != b"/":
                return self.roots["workspace"], name
        best = None
        for root in self.roots.values():
            inside = name == root.path or name.startswith(root.path.rstrip(b"/") + b"/")
            if inside and (best is None or len(root.path) > len(best.path)):
                best = root
        if best is None:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return best, name[len(best.path) :].lstrip(b"/")

    def open(self, name: bytes, cwd: bytes, flags: int, mode: int = 0) -> int:
        """Open a path below a root."""
        root, rest = self.locate(name, cwd)
        return path.open_beneath(root.fd, rest, flags, mode)

    def open_folder(self, name: bytes) -> int:
        """A folder to start programs in: below a root, or anywhere when given absolutely."""
        flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
        if b"\0" in name:
            raise OSError(errno.EINVAL, "the path holds a NUL")
        try:
            root, rest = self.locate(name)
        except OSError:
            return os.open(name, flags)
        return path.open_beneath(root.fd, rest, flags)
