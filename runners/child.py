"""Starts a local process that holds a supervisor, and gives the channel to it.

One socket pair instead of two pipes: a peer that writes without reading cannot stop both sides
at once with less than the socket's buffers full, and its end is seen at both sides at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runners.channel import PipeChannel
from runners.errors import StartError

__all__ = ["Child", "start_child"]

BUFFER_BYTES = 1 << 20
TRIAL_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Child:
    """A running child.

    Attributes:
        channel: its standard input and output; ``close`` ends and reaps it.
        process: the child itself.
        entered: done when it is in its control group; None where it was put there otherwise.
    """

    channel: PipeChannel
    process: subprocess.Popen[bytes]
    entered: asyncio.Task[None] | None = None

    def entering(self, work: Coroutine[Any, Any, None]) -> Child:
        """The same child, on its way into a group; it is not reaped before that is done."""
        task = asyncio.create_task(work)
        self.channel.holds(task)
        return replace(self, entered=task)

    async def trial(self) -> str:
        """Let a child that only tries something end; "" when it went well, else its words."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TRIAL_SECONDS):
                await self.channel.read(1)
                await asyncio.to_thread(self.process.wait, TRIAL_SECONDS)
        await self.channel.close()
        code = self.process.returncode
        return "" if code == 0 else self.words()

    def words(self) -> str:
        """What it said last, else how it ended."""
        return self.channel.diagnosis() or f"it ended with {self.process.returncode}"


async def start_child(
    argv: Sequence[str],
    *,
    user: tuple[int, int] | None = None,
    pass_fds: Sequence[int] = (),
) -> Child:
    """Start a program whose standard input and output are the channel.

    It is forked in the calling thread, the loop's: to the kernel, the death of a parent is the
    death of the thread that forked. Its environment is empty, its session its own, its folder /.

    Args:
        argv: argv[0] is an absolute path.
        user: uid and gid to change to first, without other groups.
        pass_fds: descriptors it inherits beside 0, 1 and 2.
    """
    ours, theirs = socket.socketpair()
    heard, said = os.pipe2(os.O_CLOEXEC)
    try:
        for end in (ours, theirs):
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        process = spawn(argv, theirs.fileno(), said, user, pass_fds)
    except BaseException as error:
        ours.close()
        os.close(heard)
        if isinstance(error, OSError):
            raise StartError(f"{argv[0]} cannot be started: {error.strerror}") from error
        raise
    finally:
        theirs.close()
        os.close(said)
    attaching = asyncio.ensure_future(PipeChannel.open(ours, heard, process))
    try:
        return Child(await asyncio.shield(attaching), process)
    except asyncio.CancelledError:
        await (await attaching).close()  # attaching waits for nobody
        raise


def spawn(
    argv: Sequence[str],
    stream: int,
    words: int,
    user: tuple[int, int] | None,
    pass_fds: Sequence[int],
) -> subprocess.Popen[bytes]:
    """Fork and execute; a matter of a millisecond."""
    uid, gid, groups = (*user, ()) if user else (None, None, None)
    return subprocess.Popen(
        list(argv),
        stdin=stream,
        stdout=stream,
        stderr=words,
        env={},
        cwd="/",
        pass_fds=tuple(pass_fds),
        start_new_session=True,
        user=uid,
        group=gid,
        extra_groups=groups,
    )
