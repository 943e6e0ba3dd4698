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
from runners.cgroup import Cgroup
from runners.child import Child, start_child
from runners.contract import SessionSpec
from runners.entry import children_are_told, enter
from runners.hold import Hold, session_id
from runners.layout import Layout
from runners.memory_file import memory_file
from runners.process.config import launcher_config
from runners.supervisor import system
from runners.supervisor.files import write_all
from runners.system import SYSTEM_PYTHON, box_layout, version_of

__all__ = ["MAPPED_USER", "Launcher", "try_namespaces"]

MAPPED_USER = (1000, 1000)  # a plain user's uid and gid as seen in the box
PIPE_BYTES = 1 << 16  # what a new pipe takes at once

# Reads the launcher and the module that it shares with the supervisor from the first descriptor;
# the second one is the launcher's to read.
BOOT = """\
import marshal,sys
with open(int(sys.argv[1]),'rb') as f:modules,code=marshal.load(f)
for name,shared in modules:
    m=sys.modules[name]=type(sys)(name)
    if shared:exec(shared,m.__dict__)
    else:m.__path__=[]
exec(code)
"""


class Launcher:
    """A launcher that was started ahead: its interpreter starts while we find what to build."""

    def __init__(self, child: Child, wish: int) -> None:
        self._child = child
        self._wish = wish

    @classmethod
    async def start(cls) -> Launcher:
        """Start one, which waits."""
        heard, wish = os.pipe2(os.O_CLOEXEC)
        inherited = [memory_file(launcher_code()), heard]
        try:
            argv = [launcher_python()[0], "-I", "-S", "-c", BOOT, *map(str, inherited)]
            return cls(await start_child(argv, pass_fds=inherited), wish)
        except BaseException:
            os.close(wish)
            raise
        finally:
            for file in inherited:
                os.close(file)

    def enter(self, group: Cgroup | None) -> None:
        """Begin to move it into its group, before it has started anything."""
        if group is not None and children_are_told():
            self._child = self._child.entering(enter(group, self._child.process.pid))

    async def build(self, layout: Layout, command: Sequence[str], hold: Hold) -> Child:
        """Let it build the box and become the command in it."""
        config = plan(layout, command, hold, moved=self._child.entered is not None)
        wish, self._wish = self._wish, -1
        if len(config) > PIPE_BYTES:
            await asyncio.to_thread(tell, wish, config)
        else:
            tell(wish, config)
        return self._child

    async def close(self) -> None:
        """End one that was told nothing, or did not do it; safe to repeat."""
        if self._wish >= 0:
            os.close(self._wish)
            self._wish = -1
        await self._child.channel.close()


def tell(wish: int, config: bytes) -> None:
    """Write all of it and close the pipe; a launcher that has died says why on its channel."""
    try:
        write_all(wish, config)
    except BrokenPipeError:
        pass
    finally:
        os.close(wish)


def plan(layout: Layout, command: Sequence[str], hold: Hold, *, moved: bool) -> bytes:
    """What the launcher is told; one that is not ``moved`` by us enters its group by itself.

    Only a supervisor may be moved while it starts: it starts nothing before it has its settings.
    """
    python, version = launcher_python()
    supervisor = len(command) > 1 and "-c" in command and command[0] == layout.python
    same = supervisor and (python, minor(version)) == (layout.python, minor(layout.version))
    group = hold.group
    return launcher_config(
        layout,
        command,
        user=hold.user or MAPPED_USER,
        map_user=hold.user is None,
        same=same,
        groups=group.entries if group and not moved else (),
        extra=group.binds if group else (),
    )


@cache
def launcher_python() -> tuple[str, str]:
    """The interpreter for the launcher: of our own minor version, for it gets our compiled code.

    The system's is preferred: where the image has the same, it starts only once.
    """
    version = version_of(SYSTEM_PYTHON)
    if minor(version) == minor(platform.python_version()):
        return SYSTEM_PYTHON, version
    return getattr(sys, "_base_executable", sys.executable), platform.python_version()


def minor(version: str) -> tuple[str, ...]:
    """What interpreters share that can run each other's compiled code and modules."""
    return tuple(version.split(".")[:2])


@cache
def launcher_code() -> bytes:
    """The launcher and what it shares with the supervisor, compiled."""
    path = Path(__file__).with_name("launcher.py")
    code = compile(path.read_bytes(), "launcher", "exec", optimize=2)
    shared = compile(Path(system.__file__).read_bytes(), system.__name__, "exec", optimize=2)
    packages = [(name, None) for name in ("runners", "runners.supervisor")]
    return marshal.dumps(([*packages, (system.__name__, shared)], code))


async def try_namespaces() -> str:
    """What the launcher says when it cannot do its work here; "" when it can."""
    spec = SessionSpec(run="probe", limits=Limits(disk_mib=16))
    hold = Hold.take(spec, session_id("probe"))
    try:
        layout = box_layout(spec, hold.user or MAPPED_USER, dropped=hold.user is not None)
        launcher = await Launcher.start()
        try:
            child = await launcher.build(layout, ["/bin/sh", "-c", ":"], hold)
            return await child.trial()
        finally:
            await launcher.close()
    finally:
        await asyncio.to_thread(hold.release)
