"""Packing a tree into an archive, streaming, in the box and on the host.

What travels: folders, regular files, and symbolic links that cannot lead out of the tree; links
come last. What cannot travel is named in the archive with the reason.
"""

import os
import stat

from runners.supervisor import tar
from runners.supervisor.fault import Refusal, refusal
from runners.supervisor.walk import Walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # path, kind (file, dir, link, refused), mode, size, and the sha256, target or reason
    Note = Callable[[bytes, str, int, int, bytes], object]

__all__ = ["Writer", "pack"]

CHUNK = 1 << 18
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Writer:
    """Writes entries of an archive in chunks; the caller adds links last.

    ``note`` is told the sha256 of every file as it was packed; ``left`` bytes of content may
    still come. ``position`` is where the next byte of the archive will be.
    """

    def __init__(
        self, write: "Callable[[bytes], object]", max_bytes: int, note: "Note | None" = None
    ) -> None:
        self.write = write
        self.left = max_bytes
        self.note = note
        self.parts = []  # type: list[bytes | memoryview]
        self.held = 0
        self.position = 0
        self.content = 0  # where the content of the file noted last begins

    def put(self, *parts: "bytes | memoryview") -> None:
        """Append to the archive."""
        self.parts += parts
        size = sum(map(len, parts))
        self.position += size
        self.held += size
        if self.held >= CHUNK:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        if self.held:
            self.write(b"".join(self.parts))
            self.parts, self.held = [], 0

    def folder(self, path: bytes, mode: int) -> None:
        """Add a folder."""
        self.put(tar.header(path, tar.FOLDER, mode & 0o777))
        if self.note:
            self.note(path, "dir", mode & 0o777, 0, b"")

    def link(self, path: bytes, target: bytes) -> None:
        """Add a symbolic link, or the reason why it stays."""
        if tar.leads_out(path, target):
            self.refuse(path, "a symbolic link that leads out")
            return
        self.put(tar.header(path, tar.LINK, 0o777, target=target))
        if self.note:
            self.note(path, "link", 0o777, 0, target)

    def refuse(self, path: bytes, reason: str) -> None:
        """Name something that does not travel."""
        text = reason.encode("utf-8", "replace")
        self.put(tar.header(path, tar.REFUSED, 0, target=text))
        if self.note:
            self.note(path, "refused", 0, 0, text)

    def file(self, folder: int, name: bytes, path: bytes) -> None:
        """Add a regular file of an open folder, or the reason why it stays."""
        try:
            descriptor = os.open(name, READ, dir_fd=folder)
        except OSError as error:
            self.refuse(path, refusal(error).message)
            return
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                self.refuse(path, "not a regular file")
            elif found.st_size > self.left:
                self.refuse(path, "%d bytes are more than the limit leaves" % found.st_size)
            elif found.st_size <= CHUNK:
                self.small(descriptor, found, path)
            else:
                self.large(descriptor, found, path)
        except OSError as error:
            raise refusal(error) from None
        finally:
            os.close(descriptor)

    def content_of(self, path: bytes, mode: int, data: bytes) -> None:
        """Add a file with this content."""
        self.left -= len(data)
        head = tar.header(path, tar.FILE, mode & 0o777, len(data))
        self.content = self.position + len(head)
        self.put(head, data, tar.ZEROS[: -len(data) % tar.BLOCK])
        if self.note:
            self.note(path, "file", mode & 0o777, len(data), tar.sha256(data).digest())

    def small(self, descriptor: int, found: "os.stat_result", path: bytes) -> None:
        """Add a file that is read before its header is written, so that its size is true."""
        data = os.read(descriptor, found.st_size) if found.st_size else b""
        while len(data) < found.st_size:
            more = os.read(descriptor, found.st_size - len(data))
            if not more:
                break
            data += more
        size = len(data)
        self.left -= size
        mode = found.st_mode & 0o777
        head = tar.header(path, tar.FILE, mode, size, int(found.st_mtime))
        self.content = self.position + len(head)
        self.put(head, data, tar.ZEROS[: -size % tar.BLOCK])
        if self.note:
            self.note(path, "file", mode, size, tar.sha256(data).digest())

    def large(self, descriptor: int, found: "os.stat_result", path: bytes) -> None:
        """Add a file in chunks; one that shrinks meanwhile fails the archive."""
        size, mode = found.st_size, found.st_mode & 0o777
        self.left -= size
        self.put(tar.header(path, tar.FILE, mode, size, int(found.st_mtime)))
        content = self.position
        state = tar.sha256() if self.note else None
        left = size
        while left:
            data = os.read(descriptor, min(left, CHUNK))
            if not data:
                raise Refusal("busy", b"", "a file shrank while it was read: %s" % tar.shown(path))
            left -= len(data)
            self.put(data)
            if state is not None:
                state.update(data)
        self.put(bytes(-size % tar.BLOCK))
        self.content = content
        if self.note and state is not None:
            self.note(path, "file", mode, size, state.digest())

    def finish(self) -> None:
        """Write the end mark and what is still held."""
        self.put(tar.END)
        self.flush()


def pack(
    root: int, write: "Callable[[bytes], object]", max_bytes: int, max_entries: int
) -> "tuple[int, int]":
    """Write everything below a root as an archive: how many names, how many bytes of content.

    What cannot travel is an entry of type REFUSED; one of the path "." says that a bound was
    reached and the archive is not the whole tree.
    """
    writer = Writer(write, max_bytes)
    links = []  # type: list[tuple[bytes, bytes]]
    walk = Walk(root, max_entries)
    for item in walk:
        if item.kind == "file":
            writer.file(item.folder, item.name, item.path)
            continue
        try:
            if item.kind == "link":
                links.append((item.path, os.readlink(item.name, dir_fd=item.folder)))
                continue
            found = os.stat(item.name, dir_fd=item.folder, follow_symlinks=False)
        except OSError as error:
            walk.skip()  # a folder that is back a moment later would have no entry of its own
            writer.refuse(item.path, refusal(error).message)
            continue
        if item.kind == "dir":
            writer.folder(item.path, found.st_mode)
        else:
            writer.refuse(item.path, special(found.st_mode))
    for path, target in links:
        writer.link(path, target)
    for path, reason in walk.bounds:
        writer.refuse(b"." if reason == "too many files" else path, reason)
    writer.finish()
    return max_entries - walk.left, max_bytes - writer.left


def special(mode: int) -> str:
    """What a file is that is not a file."""
    if stat.S_ISFIFO(mode):
        return "a FIFO"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"
