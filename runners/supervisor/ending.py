"""Ends: deadlines, cancels, sweeps until a call is empty, slots that were killed.

A call is over when its slot says so (ECHILD: nothing of it exists). Until then everything below
the slot is killed again and again, within bounds; what cannot be emptied ends the whole box.
"""

import posix as os
import time

from runners.supervisor import call as calls
from runners.supervisor import crew, tree
from runners.supervisor.call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:  # imports for annotations cost milliseconds at start
    from typing import Any

    from runners.supervisor.dispatch import Dispatcher

__all__ = ["Ending"]

SIGCONT = 18

BROOM_AFTER = 0.05
SLOT_AFTER = 4.0
GIVE_UP_AFTER = 9.0
SLOWEST = 0.02
TRIES = 2 + crew.IDLE_MAX

UNWATCHED = 0.004
"""A program that ends sooner is read once, at its end, and wakes us once instead of four times."""


class Ending:
    """The clock of the dispatcher."""

    def __init__(self, dispatcher: "Dispatcher") -> None:
        self.dispatcher = dispatcher
        self.view = dispatcher.view
        self.orphans: list[Call | None] = []  # calls whose slot died, until its children are gone
        self.orphans_began = 0.0
        self.dismissed = 0

    def due(self) -> "float | None":
        """When the next tick is needed."""
        if not (self.dispatcher.calls or self.orphans or self.dismissed):
            return None
        times = []
        for call in self.dispatcher.active():
            if not call.watched:
                times.append(call.began + UNWATCHED)
            elif call.sweep_began:
                times.append(call.sweep_next)
            else:
                times.append(call.deadline)
                if call.program:
                    times.append(self.dispatcher.poller.due(call))
        if self.orphans:
            times.append(time.monotonic() + 0.002)
        if self.dismissed:
            times.append(time.monotonic() + 0.1)
        return min(times) if times else None

    def tick(self) -> None:
        """Do what is due."""
        if not (self.dispatcher.calls or self.orphans or self.dismissed):
            return
        now = time.monotonic()
        for call in self.dispatcher.active():
            if not call.watched and now >= call.began + UNWATCHED:
                self.dispatcher.watch_all(call)
            if call.sweep_began:
                if now >= call.sweep_next:
                    self._sweep(call)
            elif now >= call.deadline:
                call.end("timed_out", "wall_seconds")
                self.sweep(call)
            elif call.program and call.watched and now >= self.dispatcher.poller.due(call):
                self._look(call)
        if self.orphans:
            self._clear_orphans()
        if self.dismissed:
            self._reap_dismissed()

    def cancel(self, call: Call) -> None:
        """The harness wants no more of a call."""
        call.end("cancelled")
        if call.state == calls.WAITING:
            call.facts = _killed(call)
            self.dispatcher.waiting.remove(call)
            self.dispatcher.finish(call)
        elif call.state == calls.RUNNING:
            self.sweep(call)
        elif call.state == calls.DRAINING:
            call.reason = "cancelled"
            self.dispatcher.finish(call)

    def sweep(self, call: Call) -> None:
        """Begin to kill all of a call."""
        if not call.sweep_began:
            call.sweep_began = time.monotonic()
            self._sweep(call)

    def slot_died(self, slot: crew.Slot) -> None:
        """A program killed its slot, or we did: its orphans are ours now."""
        call = slot.call
        if call is not None and self._untouched(call, slot):
            self.dispatcher.again(call)
            call = None
        self.dispatcher.unwatch_slot(slot)
        self.dispatcher.crew.forget(slot)
        tree.end(slot.pid)
        if call is not None and not call.stages_ended:
            call.end("lost")
            call.facts = _killed(call)
        self.clear_after(call)

    def _untouched(self, call: Call, slot: crew.Slot) -> bool:
        """Whether a slot was killed before it took the call, so that another can have it."""
        return call.tries < TRIES and not (call.reason or call.fed or slot.began())

    def clear_after(self, call: "Call | None") -> None:
        """Finish a call when no child is left that is not a slot.

        Where slots adopt no orphans (gVisor) nobody can tell whose an orphan is; those of calls
        that still run are killed with the others.
        """
        if not self.orphans:
            self.orphans_began = time.monotonic()
        self.orphans.append(call)
        if call is not None:
            call.sweep_began = call.sweep_next = time.monotonic() + 3600
        self._clear_orphans()

    # -- rounds ------------------------------------------------------------------------------

    def _sweep(self, call: Call) -> None:
        slot = call.slot
        if slot is None:
            return
        now = time.monotonic()
        age = now - call.sweep_began
        if age > GIVE_UP_AFTER:
            self.dispatcher.leave("a call could not be ended")
        if not call.program or age > SLOT_AFTER:
            slot.doomed = True
            tree.end(slot.pid)  # operations have no children; slot_died does the rest
        tree.end(slot.pid, SIGCONT)  # a program may have stopped it
        self.view.kill(slot.pid)
        if (age > BROOM_AFTER or not self.view.listed) and self._only(call):
            self._sweep_out()
        call.sweep_next = now + min(SLOWEST, 0.001 + age / 4)

    def _sweep_out(self) -> None:
        """The broom: kill everybody else, slots included."""
        self.dispatcher.crew.doom()
        tree.end(-1)

    def _only(self, call: Call) -> bool:
        """Whether kill(-1) would hit nothing but this call and idle slots."""
        return self.view.alone and self.dispatcher.active() == [call]

    def _clear_orphans(self) -> None:
        """Kill every direct child that is not a slot, with all below it."""
        crew.reap()
        strangers = self._strangers()
        for pid in strangers:
            self.view.kill(pid)
            tree.end(pid)
        others = [call for call in self.dispatcher.active() if call not in self.orphans]
        age = time.monotonic() - self.orphans_began
        blind = not self.view.listed and self.view.alone and not others
        if blind or (strangers and age > BROOM_AFTER and self.view.alone and not others):
            self._sweep_out()
        # Who cannot look has swept the slots out too: then no child at all is the proof.
        empty = crew.reap()
        if not empty and (blind or (strangers and self._strangers())):
            if age > GIVE_UP_AFTER:
                self.dispatcher.leave("the orphans of a call could not be ended")
            return
        ended, self.orphans = self.orphans, []
        for call in ended:
            if call is not None:
                self.dispatcher.finish(call)

    def _strangers(self) -> "list[int]":
        ours = self.dispatcher.crew.pids()
        return [pid for pid in self.view.children(os.getpid()) if pid not in ours]

    def _reap_dismissed(self) -> None:
        """Dismissed slots leave by themselves; they only need to be collected."""
        crew.reap()
        if not self._strangers():
            self.dismissed = 0

    def _look(self, call: Call) -> None:
        slot = call.slot
        if slot is None:
            return
        limits = call.request["limits"] or self.dispatcher.box.limits
        exceeded = self.dispatcher.poller.look(call, slot.pid, limits)
        if exceeded and call.end("killed_by_limit", exceeded):
            self.sweep(call)


def _killed(call: Call) -> "tuple[Any, ...]":
    """The facts of a call whose slot could not tell any."""
    if not call.program:
        return ()
    count = len(call.request["stages"])
    return [-9] * count, "", time.monotonic() - call.began, 0.0, 0.0, 0
