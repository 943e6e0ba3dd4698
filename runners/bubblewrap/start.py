"""Starts one bwrap: descriptors, the drop to the session's user, and the control group."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from runners.bubblewrap.argv import Plumbing, bubblewrap_argv
from runners.bubblewrap.binary import Binary
from runners.child import Child, start_child
from runners.entry import children_are_told, enter
from runners.errors import StartError
from runners.hold import Hold
from runners.layout import Layout
from runners.memory_file import memory_file

__all__ = ["USER", "start"]

USER = (1000, 1000)  # as seen in the box
REPORT_SECONDS = 20.0
REPORT_BYTES = 4096


class Descriptors:
    """What bwrap inherits; our copies are closed when it has started."""

    def __init__(self) -> None:
        self.inherited: list[int] = []
        self.kept: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.started()
        for descriptor in self.kept:
            os.close(descriptor)
        self.kept.clear()

    def text(self, data: bytes) -> int:
        """A file in memory, read from its start."""
        descriptor = memory_file(data)
        self.inherited.append(descriptor)
        return descriptor

    def pipe(self, *, written_inside: bool) -> tuple[int, int]:
        """Our end and the inherited end of a pipe."""
        read, write = os.pipe2(os.O_CLOEXEC)
        ours, theirs = (read, write) if written_inside else (write, read)
        self.kept.append(ours)
        self.inherited.append(theirs)
        return ours, theirs

    def started(self) -> None:
        """The child has its copies."""
        for descriptor in self.inherited:
            os.close(descriptor)
        self.inherited.clear()


async def start(
    binary: Binary, layout: Layout, command: Sequence[str], hold: Hold, *, waits: bool = False
) -> Child:
    """Run a command as PID 1 of a new box.

    One that ``waits`` for its settings enters its control group while it starts.
    """
    moved = hold.group if waits and children_are_told() else None
    held = hold.group is not None and moved is None
    with Descriptors() as fds:
        report, info = fds.pipe(written_inside=True) if held else (-1, None)
        release, block = fds.pipe(written_inside=False) if held else (-1, None)
        argv = bubblewrap_argv(
            binary.path,
            layout,
            command,
            Plumbing(fds.text, info, block),
            version=binary.version,
            user=USER,
            extra=hold.group.binds if hold.group else (),
        )
        child = await start_child(argv, user=hold.user, pass_fds=fds.inherited)
        fds.started()
        if moved is not None:
            return child.entering(enter(moved, child.process.pid))
        if hold.group is not None:
            try:
                hold.group.enter(await reported_pid(report, child))
                os.write(release, b"go")
            except BaseException as error:
                await child.channel.close()
                if isinstance(error, OSError):
                    raise StartError(f"the box cannot enter its control group: {error}") from error
                raise
        return child


async def reported_pid(report: int, child: Child) -> int:
    """The host's pid of the box's PID 1, which waits to be let go."""
    try:
        async with asyncio.timeout(REPORT_SECONDS):
            text = await read_report(report)
        return int(json.loads(text)["child-pid"])
    except (TimeoutError, ValueError, KeyError) as error:
        await child.channel.close()
        raise StartError(child.words()) from error


async def read_report(report: int) -> bytes:
    """One JSON object; bwrap closes the pipe behind it, or dies."""
    loop = asyncio.get_running_loop()
    heard = asyncio.Event()
    loop.add_reader(report, heard.set)
    text = b""
    try:
        while b"}" not in text and len(text) < REPORT_BYTES:
            await heard.wait()
            heard.clear()
            part = os.read(report, REPORT_BYTES)
            if not part:
                break
            text += part
    finally:
        loop.remove_reader(report)
    return text
