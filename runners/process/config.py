"""What the launcher is told: a pure function of the box's layout, in plain data."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from typing import Any

from runners.layout import Bind, Folder, Layout, Link, Mount, Tmpfs

__all__ = ["launcher_config"]


def launcher_config(
    layout: Layout,
    command: Sequence[str],
    *,
    user: tuple[int, int],
    map_user: bool,
    same: bool = False,
    groups: Sequence[str] = (),
    extra: Sequence[Bind] = (),
) -> bytes:
    """What the launcher reads.

    Args:
        layout: the root folder to build.
        command: what becomes PID 1 in it.
        user: uid and gid in the box.
        map_user: make a user namespace in which they stand for the caller's own; without it the
            launcher is root and changes to them.
        same: the command is `PYTHON ... -c CODE`, and PYTHON is the launcher's own interpreter
            in path and version, so that it need not start twice.
        groups: files to enter control groups by.
        extra: more read-only mounts (cgroup counters).
    """
    config = {
        "argv": list(command),
        "user": user,
        "map": map_user,
        "same": same,
        "groups": list(groups),
        "system": [plain(mount) for mount in layout.system],
        "writable": [plain(mount) for mount in (*layout.writable, *extra)],
    }
    return marshal.dumps(config)


def plain(mount: Mount) -> tuple[Any, ...]:
    """One mount as the launcher reads it."""
    if isinstance(mount, Bind):
        return ("bind", mount.target, mount.source, mount.writable, mount.optional)
    if isinstance(mount, Link):
        return ("link", mount.target, mount.text)
    if isinstance(mount, Folder):
        return ("folder", mount.target)
    if isinstance(mount, Tmpfs):
        return ("tmpfs", mount.target, mount.size_mib << 20, mount.inodes, mount.mode)
    return ("text", mount.target, mount.data)
