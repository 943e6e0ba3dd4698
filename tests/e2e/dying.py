"""A command line that kills itself at a chosen one of the changes that it makes to this machine.

A signal from outside comes when it comes; this is the same moment each time. What counts are the
files that it opens for writing, the folders it makes, moves and removes, and the programs it
starts, from all of its threads.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

__all__ = ["die_at"]

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = frozenset(
    {
        "fcntl.flock",
        "os.chmod",
        "os.chown",
        "os.link",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.symlink",
        "os.truncate",
        "subprocess.Popen",
    }
)


def die_at(number: int) -> None:
    """End this process by SIGKILL when it is about to make its change of this number, from 1."""
    seen = 0

    def watch(event: str, args: tuple[Any, ...]) -> None:
        nonlocal seen
        if event == "open":
            if not (isinstance(args[2], int) and args[2] & WRITING):
                return
        elif event not in CHANGES:
            return
        seen += 1
        if seen == number:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
