"""Why a file operation did not happen: a stable code and one sentence, for the host's Fault."""

import errno

__all__ = ["Refusal", "refusal"]

CODES = {
    errno.ENOENT: ("not-found", "there is no such file or folder"),
    errno.ENOTDIR: ("not-a-folder", "a part of the path is not a folder"),
    errno.EISDIR: ("not-a-file", "this is a folder"),
    errno.EEXIST: ("exists", "something of that name is there already"),
    errno.EXDEV: ("path-escape", "the path leads out of its root"),
    errno.EFBIG: ("too-large", "the file would be larger than the limit allows"),
    # A lease answers EWOULDBLOCK to a non-blocking open, a running program ETXTBSY.
    errno.EAGAIN: ("busy", "another program holds this file"),
    errno.ETXTBSY: ("busy", "another program holds this file"),
    errno.EACCES: ("denied", "the system denies access"),
    errno.EPERM: ("denied", "the system denies access"),
    errno.EROFS: ("denied", "the file system is read-only"),
    errno.ENOSPC: ("no-space", "the disk limit is reached"),
    errno.EDQUOT: ("no-space", "the disk limit is reached"),
    errno.ELOOP: ("loop", "a symbolic link is in the way, or too many of them"),
    errno.ENAMETOOLONG: ("name", "a name or the path is too long"),
    errno.EINVAL: ("name", "the system does not accept this name"),
    errno.ENXIO: ("not-a-file", "this is a socket or a device"),
    errno.ENODEV: ("not-a-file", "this is a device"),
}


class Refusal(Exception):  # noqa: N818 - an answer, not a failure
    """A file operation that did not happen; ``code`` is one of the codes of a Fault.

    ``path`` is empty where the caller knows it better.
    """

    def __init__(self, code: str, path: bytes, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.path = path
        self.message = message


def refusal(error: OSError, path: bytes = b"") -> Refusal:
    """The refusal that a failed system call stands for."""
    known = CODES.get(error.errno or 0)
    if known is not None:
        return Refusal(known[0], path, known[1])
    return Refusal("other", path, "the system says: %s" % (error.strerror or error))
