"""A file in memory, for texts that a child inherits by descriptor."""

from __future__ import annotations

import os

__all__ = ["memory_file"]


def memory_file(data: bytes) -> int:
    """A descriptor that reads these bytes from their start; the caller closes it."""
    descriptor = os.memfd_create("stockade", os.MFD_CLOEXEC)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
