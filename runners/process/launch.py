"""Starts the launcher of the process box, and says whether it can do its work here."""

from __future__ import annotations

import asyncio
import marshal
import os
import platform
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from policies import Limits
from runners.child import Child, start_child
from runners.contract import SessionSpec
from runners.hold import Hold, session_id
from runners.layout import Layout
from runners.memory_file import memory_file
from runners.process.config import launcher_config
from runners.system import SYSTEM_PYTHON, box_layout, version_of

__all__ = ["MAPPED_USER", "launch", "try_namespaces"]

MAPPED_USER = (1000, 1000)  # a plain user's uid and gid as seen in the box

# Reads the launcher's code from the first descriptor; the second one is the launcher's to read.
BOOT = "import marshal,sys\nwith open(int(sys.argv[1]),'rb') as f:c=marshal.load(f)\nexec(c)"


async def launch(layout: Layout, command: Sequence[str], hold: Hold) -> Child:
    """Start the launcher, which builds the box and becomes the command in it."""
    python, version = launcher_python()
    supervisor = len(command) > 1 and "-c" in command and command[0] == layout.python
    same = supervisor and (python, version) == (layout.python, layout.version)
    config = launcher_config(
        layout,
        command,
        user=hold.user or MAPPED_USER,
        map_user=hold.user is None,
        same=same,
        groups=hold.group.entries if hold.group else (),
        extra=hold.group.binds if hold.group else (),
    )
    files = [memory_file(launcher_code()), memory_file(config)]
    try:
        argv = [python, "-I", "-S", "-c", BOOT, *map(str, files)]
        return await start_child(argv, pass_fds=files)
    finally:
        for file in files:
            os.close(file)


@cache
def launcher_python() -> tuple[str, str]:
    """The interpreter for the launcher: of our own minor version, for it gets our compiled code.

    The system's is preferred: where the image has the same, it starts only once.
    """
    version = version_of(SYSTEM_PYTHON)
    if version.split(".")[:2] == platform.python_version().split(".")[:2]:
        return SYSTEM_PYTHON, version
    return getattr(sys, "_base_executable", sys.executable), platform.python_version()


@cache
def launcher_code() -> bytes:
    """The launcher, compiled."""
    path = Path(__file__).with_name("launcher.py")
    return marshal.dumps(compile(path.read_bytes(), "launcher", "exec", optimize=2))


async def try_namespaces() -> str:
    """What the launcher says when it cannot do its work here; "" when it can."""
    spec = SessionSpec(run="probe", limits=Limits(disk_mib=16))
    hold = Hold.take(spec, session_id("probe"))
    try:
        layout = box_layout(spec, hold.user or MAPPED_USER, dropped=hold.user is not None)
        child = await launch(layout, ["/bin/sh", "-c", ":"], hold)
        return await child.trial()
    finally:
        await asyncio.to_thread(hold.release)
