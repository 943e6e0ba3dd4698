"""Cooperative cancellation: a Signal is handed to the model and to every tool body."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Cancelled", "Signal"]


class Cancelled(Exception):  # noqa: N818 - the name of a state, raised by bodies that check
    """Raised by :meth:`Signal.check` in work that was cancelled; ends as an aborted result."""


class Signal:
    """Set once, never cleared; knows why; can have children that follow it.

    Promises:
     1. ``cancel`` is idempotent: the first reason stands.
     2. A child is cancelled with its parents; a parent never with its child.
     3. ``subscribe`` on a cancelled signal calls back at once.
    """

    __slots__ = ("_callbacks", "_detach", "_reason")

    def __init__(self) -> None:
        self._reason: str | None = None
        self._callbacks: dict[int, Callable[[], None]] | None = None
        self._detach: list[Callable[[], None]] | None = None

    @property
    def cancelled(self) -> bool:
        """Whether somebody cancelled."""
        return self._reason is not None

    @property
    def reason(self) -> str | None:
        """Why, or None while nobody cancelled."""
        return self._reason

    def cancel(self, reason: str = "aborted") -> None:
        """Cancel this signal and its children. Call it from the event loop's thread."""
        if self._reason is not None:
            return
        self._reason = reason
        self.release()
        callbacks, self._callbacks = self._callbacks, None
        for callback in list((callbacks or {}).values()):
            callback()

    def check(self) -> None:
        """Raise Cancelled if somebody cancelled; for bodies that work long."""
        if self._reason is not None:
            raise Cancelled(self._reason)

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back once on cancellation; returns what takes the subscription back."""
        if self._reason is not None:
            callback()
            return _nothing
        if self._callbacks is None:
            self._callbacks = {}
        callbacks = self._callbacks
        key = id(callback)
        while key in callbacks:
            key += 1
        callbacks[key] = callback

        def remove() -> None:
            callbacks.pop(key, None)

        return remove

    def child(self) -> Signal:
        """A signal that follows this one; ``release`` it when its work is over."""
        return Signal.any(self)

    @staticmethod
    def any(*parents: Signal) -> Signal:
        """A signal that is cancelled with the first of its parents."""
        fused = Signal()
        for parent in parents:
            if parent.cancelled:
                fused.cancel(parent.reason or "aborted")
                return fused
        fused._detach = [parent.subscribe(_Follow(fused, parent)) for parent in parents]
        return fused

    def release(self) -> None:
        """Stop following the parents."""
        detach, self._detach = self._detach, None
        for remove in detach or ():
            remove()


class _Follow:
    """Cancels a child with its parent's reason."""

    __slots__ = ("_child", "_parent")

    def __init__(self, child: Signal, parent: Signal) -> None:
        self._child = child
        self._parent = parent

    def __call__(self) -> None:
        self._child.cancel(self._parent.reason or "aborted")


def _nothing() -> None:
    """Nothing to take back."""
