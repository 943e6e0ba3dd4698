"""Reading, writing and listing below a root, in a slot.

Nothing here follows a path twice: a name is opened once, below its root, and everything else
happens on that descriptor. Opens never block, so FIFOs and leases cannot hold a slot.
"""

import os
import stat

from runners.supervisor.fault import Refusal, refusal
from runners.supervisor.path import open_beneath

__all__ = ["discard", "kind_of", "list_dir", "read_file", "write_file"]

TYPE_CHECKING = False
if TYPE_CHECKING:  # imports for annotations cost milliseconds at start
    from collections.abc import Iterator

    Entry = tuple[bytes, str, int, int]

READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
TEMPORARY = b".stockade-"
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

CHUNK = 1 << 18
MAX_LINKS = 40  # the kernel's own bound for one path
KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "dir",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFBLK: "device",
    stat.S_IFCHR: "device",
}


def kind_of(mode: int) -> str:
    """What a stat mode stands for: file, dir, link, fifo, socket or device."""
    return KINDS.get(stat.S_IFMT(mode), "device")


def open_regular(root: int, path: bytes) -> "tuple[int, os.stat_result]":
    """A regular file, open for reading, with its stat; the caller closes it."""
    try:
        descriptor = open_beneath(root, path, READ)
    except OSError as error:
        raise refusal(error) from None
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode):
        return descriptor, found
    os.close(descriptor)
    raise Refusal("not-a-file", b"", f"this is not a regular file but a {kind_of(found.st_mode)}")


def read_file(root: int, path: bytes, offset: int, limit: int) -> "tuple[bytes, int, int]":
    """Up to ``limit`` bytes from ``offset``, the size of the whole file, and its mode."""
    descriptor, found = open_regular(root, path)
    try:
        return read_range(descriptor, offset, limit), found.st_size, stat.S_IMODE(found.st_mode)
    except OSError as error:
        raise refusal(error) from None
    finally:
        os.close(descriptor)


def read_range(descriptor: int, offset: int, limit: int) -> bytes:
    """Bytes of an open file; fewer where it ends."""
    parts = []
    while limit > 0:
        part = os.pread(descriptor, min(limit, CHUNK), offset)
        if not part:
            break
        parts.append(part)
        offset += len(part)
        limit -= len(part)
    return b"".join(parts)


def list_dir(root: int, path: bytes, limit: int) -> "tuple[list[Entry], int]":
    """The first ``limit`` names of a folder in byte order, and how many there are."""
    try:
        descriptor = open_beneath(root, path, FOLDER)
    except OSError as error:
        raise refusal(error) from None
    try:
        return smallest(descriptor, limit)
    except OSError as error:
        raise refusal(error) from None
    finally:
        os.close(descriptor)


def smallest(folder: int, limit: int) -> "tuple[list[Entry], int]":
    """The first names of an open folder without holding all of them."""
    from heapq import nsmallest

    total = 0

    def names() -> "Iterator[bytes]":
        nonlocal total
        with os.scandir(folder) as entries:
            for entry in entries:
                total += 1
                yield os.fsencode(entry.name)

    first = nsmallest(limit, names())
    return [describe(folder, name) for name in first], total


def describe(folder: int, name: bytes) -> "Entry":
    """Name, kind, size and mode; a name that vanished meanwhile is an empty file."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return name, "file", 0, 0
    return name, kind_of(found.st_mode), found.st_size, stat.S_IMODE(found.st_mode)


def write_file(
    root: int,
    path: bytes,
    data: bytes,
    mode: "int | None",
    expect: "bytes | None",
    temporary: bytes = b"",
) -> "tuple[int, bool]":
    """Write a file whole, by a new file and a rename: its size, and whether it is new.

    A hard link elsewhere keeps the old content. A symbolic link stays, and what it points to is
    written, if that lies below the root. ``temporary`` is what the new file is called until then.
    """
    folder, name = open_target(root, path)
    try:
        old = existing(folder, name)
        check_expected(folder, name, old, expect)
        replace(folder, name, data, mode, old, temporary or temporary_name())
    except OSError as error:
        raise refusal(error) from None
    finally:
        os.close(folder)
    return len(data), old is None


def discard(root: int, path: bytes, temporary: bytes) -> None:
    """Remove the new file of a write that was ended before its rename, if it is there."""
    if not temporary.startswith(TEMPORARY) or b"/" in temporary:
        raise Refusal("name", b"", "this is not the name of a temporary file")
    folder, _ = open_target(root, path)
    try:
        os.unlink(temporary, dir_fd=folder)
    except OSError:
        pass  # the write ended well, or had not begun
    finally:
        os.close(folder)


def temporary_name() -> bytes:
    """A name that nobody else uses."""
    return TEMPORARY + os.urandom(8).hex().encode()


def open_target(root: int, path: bytes) -> "tuple[int, bytes]":
    """The folder and the name under which a file is written, links resolved, folders made."""
    for _ in range(MAX_LINKS):
        parent, name = split(path)
        try:
            folder = open_folder(root, parent)
        except OSError as error:
            raise refusal(error) from None
        try:
            target = os.readlink(name, dir_fd=folder)
        except OSError:  # not a link, or nothing yet
            return folder, name
        os.close(folder)
        if target.startswith(b"/"):
            raise Refusal("path-escape", b"", "a symbolic link leads out of its root")
        path = os.path.join(parent, target)
    raise Refusal("loop", b"", "too many symbolic links")


def split(path: bytes) -> "tuple[bytes, bytes]":
    """The folder and the last name of a path that can name a file."""
    parent, _, name = path.rpartition(b"/")
    if path.startswith(b"/"):
        raise Refusal("path-escape", b"", "the path is not relative to its root")
    if name in (b"", b".", b".."):
        raise Refusal("not-a-file", b"", "the path names a folder")
    if b"\0" in path:
        raise Refusal("name", b"", "a path cannot hold a NUL")
    return parent or b".", name


def open_folder(root: int, path: bytes) -> int:
    """The folder at a path, made part by part where it is missing."""
    try:
        return open_beneath(root, path, FOLDER)
    except FileNotFoundError:
        pass
    made = b""
    descriptor = os.dup(root)
    try:
        for part in path.split(b"/"):
            if part in (b"", b"."):
                continue
            made = os.path.join(made, part)
            following = enter(root, made, descriptor, part)
            os.close(descriptor)
            descriptor = following
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def enter(root: int, path: bytes, parent: int, name: bytes) -> int:
    """The folder at a path whose parent is open, made when it is missing."""
    try:
        return open_beneath(root, path, FOLDER)
    except FileNotFoundError:
        pass
    try:
        os.mkdir(name, 0o777, dir_fd=parent)
    except FileExistsError:  # made by another in between, or a dangling link
        pass
    return open_beneath(root, path, FOLDER)


def existing(folder: int, name: bytes) -> "os.stat_result | None":
    """The stat of the file that is to be replaced, or None; only regular files are."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(found.st_mode):
        return found
    raise Refusal("not-a-file", b"", f"this is not a regular file but a {kind_of(found.st_mode)}")


def check_expected(
    folder: int, name: bytes, old: "os.stat_result | None", expect: "bytes | None"
) -> None:
    """Refuse when the file is not what the caller thinks it is."""
    if expect is None:
        return
    if expect == b"":
        if old is not None:
            raise Refusal("exists", b"", "the file is there already")
        return
    if old is None:
        raise Refusal("not-found", b"", "the file that was to be replaced is gone")
    if digest_of(folder, name) != expect:
        raise Refusal("changed", b"", "the file is not what it was when it was read")


def digest_of(folder: int, name: bytes) -> bytes:
    """The sha256 of a regular file."""
    import hashlib

    state = hashlib.sha256()
    descriptor = os.open(name, READ | os.O_NOFOLLOW, dir_fd=folder)
    try:
        while True:
            part = os.read(descriptor, CHUNK)
            if not part:
                return state.digest()
            state.update(part)
    finally:
        os.close(descriptor)


def replace(
    folder: int,
    name: bytes,
    data: bytes,
    mode: "int | None",
    old: "os.stat_result | None",
    temporary: bytes,
) -> None:
    """Put new content under a name in one step; the mode is given, else kept, else usual."""
    descriptor = os.open(temporary, CREATE, 0o666, dir_fd=folder)
    try:
        try:
            write_all(descriptor, data)
            if old is not None:
                keep_owner(descriptor, old)
            if mode is not None:
                os.fchmod(descriptor, mode & 0o777)
            elif old is not None:
                os.fchmod(descriptor, stat.S_IMODE(old.st_mode) & 0o777)
        finally:
            os.close(descriptor)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        try:
            os.unlink(temporary, dir_fd=folder)
        except OSError:
            pass
        raise


def keep_owner(descriptor: int, old: "os.stat_result") -> None:
    """Give a new file the owner of the old one, where the system lets us."""
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) == (old.st_uid, old.st_gid):
        return
    try:
        os.fchown(descriptor, old.st_uid, old.st_gid)
    except OSError:
        pass


def write_all(descriptor: int, data: "bytes | memoryview") -> None:
    """Write everything; a system call may take less."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
