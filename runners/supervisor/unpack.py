"""Unpacking an archive, strictly and streaming, in the box and on the host.

Folders are held open and never looked up again, files are made anew, nothing is written through
a link: links come last.
"""

import os

from runners.supervisor import tar
from runners.supervisor.fault import Refusal, refusal
from runners.supervisor.walk import MAX_DEPTH, MAX_PATH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # path, kind (file, dir, link, refused), mode, size, and the sha256, target or reason
    Note = Callable[[bytes, str, int, int, bytes], object]

__all__ = ["unpack"]

CHUNK = 1 << 18
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def unpack(  # noqa: PLR0913 - each is one choice of the caller
    root: int,
    read: "Callable[[int], bytes]",
    max_bytes: int,
    max_entries: int,
    note: "Note | None" = None,
    *,
    overlay: bool = True,
    wanted: "Callable[[bytes], bool] | None" = None,
    umask: int = 0o777,
) -> "tuple[int, int]":
    """Unpack an archive below a root: how many entries, and how many bytes of content.

    ``overlay`` replaces files and links that are there already; a folder stays one. Without it
    they are refused. ``note`` is told of every entry, REFUSED ones too; without it those are
    refused. What is not ``wanted`` is checked and noted, not created. ``umask`` are the bits that
    this process may lose of the mode of a new file.
    """
    source = Source(read)
    reader = Reader(root, source, max_bytes, max_entries, note, overlay=overlay)
    reader.wanted = wanted
    reader.umask = umask
    try:
        while reader.entry():
            pass
        source.rest()
    except OSError as error:
        raise refusal(error) from None
    finally:
        reader.close()
    return reader.entries, max_bytes - reader.left


class Source:
    """Exact amounts out of a stream of chunks."""

    def __init__(self, read: "Callable[[int], bytes]") -> None:
        self.read = read
        self.chunk = b""
        self.at = 0

    def take(self, size: int) -> bytes:
        """Exactly so many bytes; fewer left is a damaged archive."""
        end = self.at + size
        if end <= len(self.chunk):
            data = self.chunk[self.at : end]
            self.at = end
            return data
        parts = [self.chunk[self.at :]]
        missing = size - len(parts[0])
        while missing:
            self.chunk = self.read(CHUNK)
            if not self.chunk:
                raise tar.damaged("it ends too early")
            parts.append(self.chunk[:missing])
            self.at = len(parts[-1])
            missing -= self.at
        return b"".join(parts)

    def rest(self) -> None:
        """Nothing but a little padding may follow the end mark."""
        left = 1 << 20
        data = self.chunk[self.at :]
        while left > 0:
            if data.strip(b"\0"):
                raise tar.damaged("something follows its end")
            left -= len(data)
            data = self.read(CHUNK)
            if not data:
                return
        raise tar.damaged("its padding is too long")


class Reader:
    """Creates the entries of an archive, one after another."""

    def __init__(
        self,
        root: int,
        source: Source,
        max_bytes: int,
        max_entries: int,
        note: "Note | None",
        *,
        overlay: bool,
    ) -> None:
        self.source = source
        self.left = max_bytes
        self.max_entries = max_entries
        self.note = note
        self.overlay = overlay
        self.wanted = None  # type: Callable[[bytes], bool] | None
        self.umask = 0o777
        self.entries = 0
        self.linked = False
        self.seen = {}  # type: dict[bytes, bytes]
        self.last = b""  # a folder whose name and depth are known to be good
        # Open folders from the root down to where the last entry was, each with its path.
        self.open = [(b"", root)]

    def close(self) -> None:
        """Close the folders that are open; the root is the caller's."""
        while len(self.open) > 1:
            os.close(self.open.pop()[1])

    def entry(self) -> bool:
        """Create the next entry; False at the end mark."""
        block = self.source.take(tar.BLOCK)
        if block == tar.ZEROS:
            if self.source.take(tar.BLOCK) != tar.ZEROS:
                raise tar.damaged("its end mark is torn")
            return False
        path, kind, mode, size, mtime, target = tar.parse(block)
        if kind == tar.PAX:
            path, kind, mode, size, mtime, target = self.extended(size)
        self.count(path, kind, size)
        if kind == tar.FILE:
            self.file(path, mode & 0o777, size, mtime)
        elif kind == tar.FOLDER:
            self.folder(path, mode & 0o777)
        elif kind == tar.LINK:
            self.link(path, target)
        elif self.note is None:
            raise tar.damaged("it names something that was not packed")
        else:
            self.note(path, "refused", 0, 0, target)
        return True

    def extended(self, size: int) -> "tuple[bytes, bytes, int, int, int, bytes]":
        """The entry behind a PAX header, with what that one says."""
        if size > tar.MAX_PAX:
            raise tar.damaged("a PAX header is too long")
        records = tar.pax(self.source.take(size + -size % tar.BLOCK)[:size])
        path, kind, mode, size, mtime, target = tar.parse(self.source.take(tar.BLOCK))
        if kind == tar.PAX:
            raise tar.damaged("a PAX header follows another")
        if b"size" in records:
            digits = records[b"size"]
            if not digits.isdigit() or len(digits) > 18:
                raise tar.damaged("a size is no number")
            size = int(digits)
        path = records.get(b"path", path)
        return path, kind, mode, size, mtime, records.get(b"linkpath", target)

    def count(self, path: bytes, kind: bytes, size: int) -> None:
        """Hold an entry against the bounds, and its path against the rules."""
        self.entries += 1
        if self.entries > self.max_entries:
            raise Refusal(
                "too-large", b"", "the archive holds more than %d files" % self.max_entries
            )
        if kind == tar.REFUSED and path == b".":
            return
        if kind != tar.FILE and size:
            raise tar.damaged("an entry that is no file has content")
        if size > self.left:
            raise Refusal("too-large", b"", "the archive holds more bytes than the limit")
        self.left -= size
        folder, _, name = path.rpartition(b"/")
        if not folder or folder != self.last:
            self.check(path)
            self.last = folder
        elif name in (b"", b".", b"..") or len(name) > 255 or len(path) > MAX_PATH + 256:
            self.check(path)
        if path in self.seen and kind != tar.REFUSED:
            raise tar.damaged("a path comes twice: %s" % tar.shown(path))
        if self.linked and kind in (tar.FILE, tar.FOLDER):
            raise tar.damaged("a file comes after a symbolic link: %s" % tar.shown(path))
        self.seen[path] = kind

    def check(self, path: bytes) -> None:
        """Refuse a path that is not plain, or longer or deeper than one that is packed."""
        parts = path.split(b"/")
        if b"" in parts or b"." in parts or b".." in parts:
            raise tar.damaged("a path is not plain: %s" % tar.shown(path))
        # A folder that was too deep to be packed is named with a path one longer.
        if len(parts) > MAX_DEPTH + 2 or len(path) > MAX_PATH + 256 or max(map(len, parts)) > 255:
            raise tar.damaged("a path is too long or too deep")

    def parent(self, path: bytes) -> "tuple[int, bytes]":
        """The open folder of a path, and the last name."""
        folder, _, name = path.rpartition(b"/")
        if folder == self.open[-1][0]:
            return self.open[-1][1], name
        while not (folder + b"/").startswith(self.open[-1][0] + b"/") and len(self.open) > 1:
            os.close(self.open.pop()[1])
        opened, descriptor = self.open[-1]
        below = folder[len(opened) + 1 :] if opened else folder
        for part in below.split(b"/") if below else ():
            opened = opened + b"/" + part if opened else part
            if self.seen.get(opened, tar.FOLDER) != tar.FOLDER:
                raise tar.damaged("a path goes through a file: %s" % tar.shown(path))
            descriptor = self.make(descriptor, part)
            self.open.append((opened, descriptor))
        return descriptor, name

    def make(self, folder: int, name: bytes) -> int:
        """Open a folder of a folder, made when it is missing."""
        try:
            os.mkdir(name, 0o755, dir_fd=folder)
        except FileExistsError:
            pass
        try:
            return os.open(name, FOLDER, dir_fd=folder)
        except OSError:
            if not self.overlay:
                raise
        os.unlink(name, dir_fd=folder)
        os.mkdir(name, 0o755, dir_fd=folder)
        return os.open(name, FOLDER, dir_fd=folder)

    def creates(self, path: bytes) -> bool:
        """Whether an entry is to be created, not only checked."""
        return self.wanted is None or self.wanted(path)

    def folder(self, path: bytes, mode: int) -> None:
        """Create a folder that stays writable for its owner."""
        if self.creates(path):
            parent, name = self.parent(path)
            descriptor = self.make(parent, name)
            self.open.append((path, descriptor))
            os.fchmod(descriptor, mode | 0o700)
        if self.note:
            self.note(path, "dir", mode, 0, b"")

    def file(self, path: bytes, mode: int, size: int, mtime: int) -> None:
        """Create a file and its content."""
        state = tar.sha256() if self.note else None
        descriptor = -1
        if self.creates(path):
            parent, name = self.parent(path)
            descriptor = self.create(parent, name, mode | 0o400)
        try:
            left = size
            while left:
                count = min(left, CHUNK)
                left -= count
                # The padding comes with the last piece.
                data = self.source.take(count if left else count + -size % tar.BLOCK)[:count]
                if state is not None:
                    state.update(data)
                while data and descriptor >= 0:
                    data = data[os.write(descriptor, data) :]
            if descriptor >= 0:
                if (mode | 0o400) & self.umask:
                    os.fchmod(descriptor, mode | 0o400)
                os.utime(descriptor, (mtime, mtime))
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        if self.note and state is not None:
            self.note(path, "file", mode, size, state.digest())

    def create(self, parent: int, name: bytes, mode: int) -> int:
        """A new file; in an overlay in place of an old one."""
        try:
            return os.open(name, CREATE, mode, dir_fd=parent)
        except FileExistsError:
            if not self.overlay:
                raise
        os.unlink(name, dir_fd=parent)
        return os.open(name, CREATE, mode, dir_fd=parent)

    def link(self, path: bytes, target: bytes) -> None:
        """Create a symbolic link that stays inside."""
        self.linked = True
        if tar.leads_out(path, target):
            raise tar.damaged("a symbolic link leads out: %s" % tar.shown(path))
        if self.creates(path):
            self.make_link(path, target)
        if self.note:
            self.note(path, "link", 0o777, 0, target)

    def make_link(self, path: bytes, target: bytes) -> None:
        """Create a symbolic link; in an overlay in place of an old file or link."""
        parent, name = self.parent(path)
        try:
            os.symlink(target, name, dir_fd=parent)
        except FileExistsError:
            if not self.overlay:
                raise
            os.unlink(name, dir_fd=parent)
            os.symlink(target, name, dir_fd=parent)
