"""A supervisor on its way into its session's control group, while it starts.

The kernel takes ten milliseconds and more to move a process into a group: it waits until every
processor has passed a quiet moment. A supervisor needs as long to start, and starts nothing
itself before it has its settings. So both happen at once, and the settings are sent afterwards.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

from runners.cgroup import Cgroup
from runners.errors import StartError

__all__ = ["children_are_told", "enter"]


def children_are_told() -> bool:
    """Whether this kernel lists the children of a process."""
    return Path(f"/proc/self/task/{os.getpid()}/children").exists()


def enter(group: Cgroup, pid: int) -> Coroutine[Any, Any, None]:
    """Move a process that was just started, with what it started meanwhile.

    It is begun at once, in a thread; who waits for the answer hears what came of it.
    """
    return entered(asyncio.get_running_loop().run_in_executor(None, enter_family, group, pid))


async def entered(moving: asyncio.Future[None]) -> None:
    """Wait until a process was moved."""
    try:
        await moving
    except OSError as error:
        raise StartError(f"the box cannot enter its control group: {error}") from error


def enter_family(group: Cgroup, pid: int) -> None:
    """Move a process and its descendants.

    Whatever a process starts after it was moved is born in the group: so nothing is outside any
    more when a look finds nobody who was not moved before that look.
    """
    moved: set[int] = set()
    while new := [one for one in (pid, *descendants(pid)) if one not in moved]:
        for one in new:
            try:
                group.enter(one)
            except ProcessLookupError:
                if one == pid:
                    raise
        moved.update(new)


def descendants(pid: int) -> Iterator[int]:
    """Everything below a process, as the kernel lists it now."""
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
    except OSError:
        return  # it is gone, or this kernel does not tell
    for child in map(int, listed.split()):
        yield child
        yield from descendants(child)
