"""The thread that ends the box when the harness is gone, whatever the main loop is doing.

A thread, because a process could be killed by a program. It waits for the hang-up of standard
input (events=0: data does not wake it), and looks at the lease now and then, because over a
network a dead harness may hang up never.
"""

import _thread
import posix as os
import select
import time

from runners.supervisor.crew import end_everything
from runners.supervisor.tree import Tree

__all__ = ["DeadMan"]


class DeadMan:
    """``heard()`` after every byte of the harness keeps the box alive."""

    def __init__(self, view: Tree, lease_seconds: float) -> None:
        self.view = view
        self.lease_seconds = lease_seconds
        self.last = time.monotonic()
        self.leaving = False

    def start(self) -> None:
        """Begin to watch."""
        _thread.start_new_thread(self._watch, ())

    def heard(self) -> None:
        """The harness lives."""
        self.last = time.monotonic()

    def _watch(self) -> None:
        hang_up = select.poll()
        hang_up.register(0, 0)
        pause = max(1, int(self.lease_seconds * 250))
        while not hang_up.poll(pause):
            if time.monotonic() - self.last > self.lease_seconds:
                break
        self.leaving = True  # the main loop must not tell what it sees now as ends of calls
        end_everything(self.view)
        os._exit(0)
