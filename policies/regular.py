"""Reading a file that an operator names: a regular one, and no larger than such a file may be."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["MOST_BYTES", "read_regular"]

MOST_BYTES = 1 << 20
"""Of a file that a person writes."""


def read_regular(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """The bytes of a file; OSError says why there are none.

    A device or a pipe might never end, and a pipe that nobody writes would be waited for.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB", str(path))
    return data
