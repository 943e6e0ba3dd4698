"""Who writes a log: one process holds its file until it, or the process, is gone."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path

__all__ = ["held", "take_hold"]

LOCKLESS = frozenset({errno.ENOTSUP, errno.ENOLCK})
"""What a disk without locks says."""

PATIENCE_SECONDS = 1.0
"""A killed process's child keeps the file until it runs its own program; a look holds it, too."""


def take_hold(descriptor: int) -> None:
    """Keep other writers out; BlockingIOError where another process stays the writer."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise
        except OSError as error:
            if error.errno in LOCKLESS:
                return
            raise
        time.sleep(0.01)


def held(path: Path) -> bool | None:
    """Whether a process writes this log; None where the disk has no locks to tell."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False  # the writer died between two parts
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        if error.errno in LOCKLESS:
            return None
        raise
    finally:
        os.close(descriptor)
    return False
