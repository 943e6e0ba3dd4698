"""Opening paths that cannot leave a folder: by openat2, else by our own walk.

Both ways give one contract: links that stay below the root are followed, also folder links; an
absolute link, a link or ``..`` that leaves the root is EXDEV, wherever it points.
"""

import errno
import posix as os

from runners.supervisor import system

__all__ = ["FOLDER", "READ", "do_without_openat2", "has_openat2", "open_beneath"]

ALWAYS = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
READ = os.O_RDONLY | ALWAYS
FOLDER = os.O_RDONLY | os.O_DIRECTORY | ALWAYS

LINKS_MAX = 40
RETRIES = 32
"""A rename elsewhere makes openat2 answer EAGAIN; a lease does too, and for long."""

_openat2 = None


def has_openat2() -> bool:
    """Whether this kernel, and the filters around us, know openat2; asked once."""
    global _openat2  # noqa: PLW0603 - an answer that cannot change
    if _openat2 is None:
        try:
            os.close(system.openat2(os_root(), b".", os.O_PATH | os.O_CLOEXEC, 0))
            _openat2 = True
        except OSError:
            _openat2 = False
    return _openat2


def do_without_openat2() -> None:
    """From now on by our own walk: a filter will refuse the call."""
    global _openat2  # noqa: PLW0603 - as above
    _openat2 = False


def os_root() -> int:
    """AT_FDCWD."""
    return -100


def open_beneath(root: int, path: bytes, flags: int, mode: int = 0) -> int:
    """Open ``path`` below the folder ``root``; "" and "." are the root itself.

    Never blocks (on a FIFO, a device or a lease), never inherited. OSError says why not: EXDEV
    for a path that leaves the root, ELOOP for too many links, EAGAIN for a file under a lease.
    """
    flags |= os.O_CLOEXEC
    if not flags & os.O_PATH:
        flags |= ALWAYS
    if path[:1] == b"/":
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    if b"\0" in path:
        raise OSError(errno.EINVAL, "the path holds a NUL")
    path = path or b"."
    if not has_openat2():
        return walk(root, path, flags, mode)
    mode = mode if flags & os.O_CREAT else 0
    for _ in range(RETRIES):
        try:
            return system.openat2(root, path, flags, mode)
        except OSError as error:
            if error.errno != errno.EAGAIN:
                raise
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def walk(root: int, path: bytes, flags: int, mode: int) -> int:
    """What openat2 does, part by part; every step is ``O_NOFOLLOW`` from a held descriptor."""
    held = [os.dup(root)]
    try:
        return _walk(held, path, flags, mode)
    finally:
        for fd in held:
            os.close(fd)


def _walk(held: "list[int]", path: bytes, flags: int, mode: int) -> int:
    """Go down the parts; ``held`` are the folders from the root to here."""
    parts = _parts(path)
    links = 0
    while parts:
        part = parts.pop()
        if part == b"..":
            if len(held) == 1:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
            os.close(held.pop())
            continue
        last = not parts
        try:
            fd = _step(held[-1], part, flags, mode, last=last)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR) or (last and flags & os.O_NOFOLLOW):
                raise
            target = _link(held[-1], part, error)
            links += 1
            if links > LINKS_MAX:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
            if target[:1] == b"/":
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV)) from None
            parts.extend(_parts(target))
            continue
        if last:
            return fd
        held.append(fd)
    return os.open(b".", flags & ~(os.O_CREAT | os.O_EXCL), dir_fd=held[-1])


def _parts(path: bytes) -> "list[bytes]":
    """The parts in reverse order; a trailing slash demands a folder."""
    parts = [part for part in path.split(b"/") if part not in (b"", b".")]
    if path.endswith((b"/", b"/.")) and parts:
        parts.append(b".")
    return parts[::-1]


def _step(folder: int, part: bytes, flags: int, mode: int, *, last: bool) -> int:
    """Open one part. O_NOFOLLOW alone is not trusted: old gVisor follows links to folders."""
    if not last:
        flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
    link_wanted = last and flags & os.O_PATH and flags & os.O_NOFOLLOW
    if not link_wanted and _is_link(_seen(folder, part)):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    fd = os.open(part, flags | os.O_NOFOLLOW, mode, dir_fd=folder)
    found, seen = os.fstat(fd), _seen(folder, part)
    same = seen is not None and (seen.st_dev, seen.st_ino) == (found.st_dev, found.st_ino)
    if same and (link_wanted or not _is_link(found)):
        return fd
    os.close(fd)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _seen(folder: int, part: bytes) -> "os.stat_result | None":
    try:
        return os.stat(part, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def _is_link(found: "os.stat_result | None") -> bool:
    return found is not None and found.st_mode & 0o170000 == 0o120000


def _link(folder: int, part: bytes, error: OSError) -> bytes:
    """The text of a link, else the error that made us think it is one."""
    try:
        return os.readlink(part, dir_fd=folder)
    except OSError:
        raise error from None
