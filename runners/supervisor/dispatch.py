"""The supervisor's one loop: frames in, programs' output out, calls to slots, ends to calls.

Nothing in it may block, or the box would outlive its harness: every descriptor is non-blocking,
files are touched in slots only. When the queue to the harness is full, programs are not read any
more; the harness always is.
"""

import errno
import marshal
import posix as os
import select
import time

from runners.supervisor import call as calls
from runners.supervisor import crew, frames, tree
from runners.supervisor.box import Box
from runners.supervisor.call import Call
from runners.supervisor.deadman import DeadMan
from runners.supervisor.ending import Ending
from runners.supervisor.evidence import Counters
from runners.supervisor.leftover import Leftovers
from runners.supervisor.poller import Poller
from runners.supervisor.tap import Tap

__all__ = ["Dispatcher"]

QUEUE_MAX = 1024 * 1024
READ_MAX = frames.HEADER.size + frames.BODY_MAX
"""A frame of input in one read; and never more than the rest of one that was begun, so that the
next read begins with a frame again."""

READS_AT_ONCE = 8
OVERLAP_MAX = 64
SPARE_PIPES = 2


class Dispatcher:
    """Holds the calls of the session."""

    def __init__(self, box: Box, view: tree.Tree, deadman: DeadMan, oom: int) -> None:
        self.box = box
        self.view = view
        self.deadman = deadman
        self.counters = Counters(box.settings["counters"])
        self.leftovers = Leftovers(own_ipc=box.settings["pid1"])
        self.crew = crew.Crew(box, oom)
        self.poller = Poller(
            view,
            memory=box.settings["poll"],
            processes=box.settings["poll"] and not box.settings["nproc"],
            inodes=box.settings["inodes"],
            own_ipc=box.settings["pid1"],
        )
        self.ending = Ending(self)
        self.calls: dict[int, Call] = {}
        self.waiting: list[Call] = []
        self.buffer: list[bytes] = []  # the beginning of a frame
        self.missing = 0  # how many bytes it has with its head, as far as that is known
        self.queue: list[bytes] = []
        self.queued = 0
        self.stuck = False  # the harness takes no more for the moment
        self.calm: dict[str, int] | None = None  # the counters as the last call left them
        self.poll = select.poll()
        self.taps: dict[int, Tap] = {}
        self.feeds: dict[int, Call] = {}
        self.poll.register(0, select.POLLIN)
        self.spare: list[tuple[int, int]] = []
        self.littered = False  # programs ended that nobody has tidied up after
        # Without /proc only kill(-1) can end a call, so calls have to take turns.
        self.overlap = OVERLAP_MAX if view.listed else 1

    def run(self) -> None:
        """Serve until the harness is gone."""
        self._flush()  # hello does not wait for a slot, nor for what a slot needs
        __import__("resource")
        self.prepare_slot(self.crew.key(self.box.limits))
        while True:
            if len(self.spare) < SPARE_PIPES:
                self._make_spare_pipes()
            ready = self.poll.poll(self._pause())
            while self.deadman.leaving:
                time.sleep(1)
            for fd, event in ready:
                self._ready(fd, event)
            if self.queue:
                self._flush()  # before all that can wait: this may be the answer of a call
            if self.littered:
                self._tidy()
            self.ending.tick()
            if self.waiting:
                self._start_waiting()
            if self.queue:
                self._flush()

    def _make_spare_pipes(self) -> None:
        """Made now, they cost the next call nothing."""
        try:
            while len(self.spare) < SPARE_PIPES:
                self.spare.append(calls.output_pipe())
        except OSError:
            pass  # no room for them now

    def prepare_slot(self, key: "crew.Key") -> None:
        """Fork a slot ahead of its first call."""
        made = self.crew.fork(key)
        self.poll.register(made.fd, select.POLLIN)
        self.crew.idle.append(made)

    def send(self, frame: "bytes | None") -> None:
        """Queue a frame for the harness."""
        if frame:
            self.queue.append(frame)
            self.queued += len(frame)

    def leave(self, text: str) -> None:
        """End the box: first everything in it, then this process."""
        crew.end_everything(self.view)
        self.send(frames.reply('{"t":"leave","text":%s}' % frames.json_text(text)))
        self._flush()
        os._exit(0)

    def active(self) -> "list[Call]":
        """Calls that have a slot."""
        return [call for call in self.calls.values() if call.state == calls.RUNNING]

    # -- the loop ---------------------------------------------------------------------------

    def _pause(self) -> "int | None":
        due = self.ending.due()
        if due is None:
            return None
        return max(0, int((due - time.monotonic()) * 1000) + 1)

    def _ready(self, fd: int, event: int) -> None:
        if fd == 0:
            self._receive()
            if event & select.POLLOUT:
                self._flush()
        elif fd in self.taps:
            self._pump(self.taps[fd])
        elif fd in self.crew.slots:
            self._hear(self.crew.slots[fd])
        elif fd in self.feeds:
            self._feed(self.feeds[fd])
        elif fd == 1:
            self._flush()

    def _flush(self) -> None:
        """Write what the harness takes; programs are read only while there is room."""
        was_full = self.queued >= QUEUE_MAX
        while self.queue:
            try:
                count = os.writev(1, self.queue[:64])
            except BlockingIOError:
                break
            except OSError:
                crew.end_everything(self.view)
                os._exit(0)
            self.queued -= count
            done = 0
            for frame in self.queue:
                if count < len(frame):
                    break
                count -= len(frame)
                done += 1
            del self.queue[:done]
            if count:
                self.queue[0] = self.queue[0][count:]
        if self.queue:
            self.poll.register(1, select.POLLOUT)
            self.stuck = True
        elif self.stuck:
            self.poll.unregister(1)
            self.stuck = False
        if was_full != (self.queued >= QUEUE_MAX) or was_full:
            for call in list(self.calls.values()):
                self.watch_all(call)
                if call.state == calls.DRAINING:
                    self._drain(call)

    # -- frames of the harness ---------------------------------------------------------------

    def _receive(self) -> None:
        held = sum(map(len, self.buffer))
        try:
            data = os.read(0, min(READ_MAX, self.missing - held) if held else READ_MAX)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.leave("the harness hung up")
        self.deadman.heard()
        if self.buffer:
            self.buffer.append(data)
            if held + len(data) < self.missing:
                return
            data = b"".join(self.buffer)
            self.buffer = []
        size = frames.HEADER.size
        at = 0
        self.missing = size
        while len(data) - at >= size:
            kind, stream, _, number, length = frames.HEADER.unpack_from(data, at)
            if len(data) - at - size < length:
                self.missing = size + length
                break
            end = at + size + length
            if kind == frames.DATA:  # not copied: it may be whole trees of files
                self._input(number, memoryview(data)[at + size : end])
            else:
                self._frame(kind, stream, number, data[at + size : end])
            at = end
        if at < len(data):
            self.buffer.append(data[at:])

    def _input(self, number: int, data: memoryview) -> None:
        known = self.calls.get(number)
        if known is not None and (known.feed >= 0 or known.state == calls.WAITING):
            known.input.append(data)
            self._feed(known)

    def _frame(self, kind: int, stream: int, number: int, payload: bytes) -> None:
        if kind == frames.OPEN:
            operation, request = marshal.loads(payload)
            call = Call(number, operation, request, payload)
            self.calls[number] = call
            self.waiting.append(call)
            self._start_waiting()
            return
        if kind == frames.PING:
            self.send(frames.reply('{"t":"pong","n":%d}' % int.from_bytes(payload, "big")))
            return
        if kind == frames.CLOSE:
            self.leave("closed")
        known = self.calls.get(number)
        if known is None:
            return  # it ended while the frame was under way
        if kind == frames.CANCEL:
            self.ending.cancel(known)
        elif kind == frames.CREDIT:
            self._credit(known, stream, frames.NUMBER.unpack(payload)[0])
        elif kind == frames.END:
            known.input_ended = True
            self._feed(known)

    def _credit(self, call: Call, stream: int, count: int) -> None:
        for tap in call.taps:
            if tap.stream == stream:
                tap.credit += count
        if call.state == calls.DRAINING:
            self._drain(call)
        else:
            self.watch_all(call)

    # -- calls -------------------------------------------------------------------------------

    def _start_waiting(self) -> None:
        while self.waiting and len(self.active()) < self.overlap and not self.ending.orphans:
            call = self.waiting.pop(0)
            if call.state == calls.WAITING:
                self._start(call)

    def again(self, call: Call) -> None:
        """Put a call that was not begun back to the front."""
        for tap in call.taps:
            self._unwatch(tap)
        self._unwatch_feed(call)
        if call.feed >= 0:
            os.close(call.feed)
            call.feed = -1
        for tap in call.taps:
            tap.drop()
        call.taps = []
        call.tries += 1
        call.slot = None
        call.watched = False
        call.state = calls.WAITING
        self.waiting.insert(0, call)

    def _tidy(self) -> None:
        """Remove what programs left that is in no process: before the next one, at the latest."""
        if not self.active():
            self.littered = False
            self.leftovers.sweep()

    def _start(self, call: Call) -> None:
        if self.littered:
            self._tidy()
        call.began = time.monotonic()
        call.deadline = call.began + call.request["wall"]
        # Where nothing ran meanwhile they have not moved.
        call.before = self.counters.read() if self.calm is None else self.calm
        self.calm = None
        key = self.crew.key(call.request["limits"] or self.box.limits)
        ends: list[int] = []
        try:
            call.open_streams(self.spare, ends)
            slot, new = self.crew.take(key)
        except OSError as error:  # other calls have taken all processes or memory there are
            _close_all(ends)
            call.refused(os.strerror(error.errno or errno.EAGAIN))
            self.finish(call)
            return
        call.state = calls.RUNNING
        if new:
            self.poll.register(slot.fd, select.POLLIN)
        try:
            slot.give(call, ends)
        except OSError:
            self.ending.slot_died(slot)  # killed while it was idle
        finally:
            _close_all(ends)
        self._feed(call)

    def _hear(self, slot: crew.Slot) -> None:
        word, values = slot.hear()
        call = slot.call
        if word == "-":
            return
        if not word or call is None:
            self.ending.slot_died(slot)
        elif word == "L":
            call.facts = values
            call.stages_ended = True
            self.ending.sweep(call)
        else:
            own_cpu, adopts, call.facts = values
            dismissed = self.crew.free(slot, own_cpu)
            if dismissed is not None:
                self.unwatch_slot(dismissed)
                self.crew.forget(dismissed)
                self.ending.dismissed += 1
            if call.program and not adopts:
                self.ending.clear_after(call)
            else:
                self.finish(call)

    def unwatch_slot(self, slot: crew.Slot) -> None:
        """Listen no more to a slot."""
        try:
            self.poll.unregister(slot.fd)
        except KeyError:
            pass

    def finish(self, call: Call) -> None:
        """Nothing of the call exists any more: pass on what is left in its pipes."""
        call.state = calls.DRAINING
        call.slot = None
        self._unwatch_feed(call)
        call.close_feed()
        self.poller.forget(call)
        self.littered = self.littered or call.program
        if call.reason == "cancelled":
            for tap in call.taps:
                self._unwatch(tap)
                tap.drop()
        self._drain(call)

    def _drain(self, call: Call) -> None:
        """All writers are dead, so "nothing now" is the end, whoever else holds the pipe."""
        for tap in call.taps:
            self._unwatch(tap)
            while tap.readable and self.queued < QUEUE_MAX:
                frame = tap.read()
                if frame is None:
                    tap.close()
                self.send(frame)
            while tap.tail and self.queued < QUEUE_MAX:
                frame = tap.flush()
                if frame is None:
                    break
                self.send(frame)
            if tap.open:
                self._watch(tap)
        if all(tap.finished for tap in call.taps):
            call.state = calls.OVER
            del self.calls[call.number]
            after = self.counters.read()
            self.send(call.done(self.box, after))
            if not self.calls:
                self.calm = after

    # -- streams -----------------------------------------------------------------------------

    def _pump(self, tap: Tap) -> None:
        call = self.calls[tap.call]
        if call.state == calls.DRAINING:
            self._drain(call)
            return
        for _ in range(READS_AT_ONCE):
            if not tap.readable or self.queued >= QUEUE_MAX:
                break
            fd = tap.fd
            frame = tap.read()
            if not tap.open:
                self.taps.pop(fd, None)
                self.poll.unregister(fd)
                return
            if frame is None:
                break
            self.send(frame)
        self._watch(tap)

    def watch_all(self, call: Call) -> None:
        """Read a call's output as it comes."""
        call.watched = True
        for tap in call.taps:
            self._watch(tap)

    def _watch(self, tap: Tap) -> None:
        if tap.readable and self.queued < QUEUE_MAX:
            if tap.fd not in self.taps:
                self.taps[tap.fd] = tap
                self.poll.register(tap.fd, select.POLLIN)
        else:
            self._unwatch(tap)

    def _unwatch(self, tap: Tap) -> None:
        if self.taps.pop(tap.fd, None) is not None:
            self.poll.unregister(tap.fd)

    def _feed(self, call: Call) -> None:
        """Pass input on; poll only while the reader is behind."""
        if call.feed < 0:
            return
        fd = call.feed
        self.send(call.feed_input())
        if call.feed >= 0 and call.input:
            if fd not in self.feeds:
                self.feeds[fd] = call
                self.poll.register(fd, select.POLLOUT)
        elif fd in self.feeds:
            del self.feeds[fd]
            self.poll.unregister(fd)

    def _unwatch_feed(self, call: Call) -> None:
        if self.feeds.pop(call.feed, None) is not None:
            self.poll.unregister(call.feed)


def _close_all(fds: "list[int]") -> None:
    for fd in fds:
        os.close(fd)
