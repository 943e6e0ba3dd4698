"""One channel for everything that happens: the log first, then whoever listens."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from harness.event import Event, Payload
from harness.frequent import frequent_text
from harness.record import EventLog

__all__ = ["Events", "Subscriber", "current_call", "current_step"]

Subscriber = Callable[[Event], None]

current_step: ContextVar[int] = ContextVar("current_step", default=0)
"""The step that the running code belongs to."""

current_call: ContextVar[str | None] = ContextVar("current_call", default=None)
"""The call that the running code belongs to."""


class Events:
    """Where the parts of a run say what they do.

    Promises:
     1. The log has a record before any subscriber hears of it; a log that cannot be written
        raises LogError, and the run stops.
     2. Subscribers hear events in order; one that raises harms nobody, and is counted.
     3. What is held back is recorded, and told, before the next event, and at once by ``flush``.
    """

    def __init__(self, *, run: str = "run", log: EventLog | None = None) -> None:
        self.run = run
        self.log = log
        self.failures = 0
        self._subscribers: list[Subscriber] = []
        self._texts: list[tuple[str, str]] = []
        self._untold: list[Event] = []

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call ``subscriber`` with every event from now on; returns what ends that."""
        self._subscribers.append(subscriber)

        def dispose() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

        return dispose

    def emit(
        self,
        payload: Payload,
        *,
        step: int | None = None,
        call: str | None = None,
        soon: bool = False,
    ) -> None:
        """Record and tell; ids that are not given come from the running context.

        ``soon`` holds it back, where there is a log, until the next event, to be written with it
        in one go: for what is followed by another event before anybody is waited for and before
        anything is done.
        """
        if step is None:
            step = current_step.get()
        if call is None:
            call = current_call.get()
        event = None
        if self._subscribers:
            event = Event(payload, self.run, step, call, time.monotonic())
        log = self.log
        if log is None:
            if event is not None:
                self._tell(event)
            return
        text = frequent_text(payload, step, call) if log.plain else None
        if text is None:
            text = log.text_of(payload.type, record_fields(payload, step, call))
        self._texts.append((payload.type, text))
        if event is not None:
            self._untold.append(event)
        if not soon:
            self.flush()

    def flush(self) -> None:
        """Record and tell what is held back."""
        texts, self._texts = self._texts, []
        untold, self._untold = self._untold, []
        if texts and self.log is not None:
            self.log.write_texts(texts)
        for event in untold:
            self._tell(event)

    def _tell(self, event: Event) -> None:
        for subscriber in tuple(self._subscribers):
            try:
                subscriber(event)
            except Exception:  # an observer must not change what it observes
                self.failures += 1


def record_fields(payload: Payload, step: int, call: str | None) -> dict[str, Any]:
    """What the log writes of a payload: absent values stay absent, ``facts`` are spread."""
    fields: dict[str, Any] = {}
    if step:
        fields["step"] = step
    if call is not None:
        fields["call"] = call
    for name, value in zip(payload._fields, payload, strict=False):
        if value is not None:
            fields[name] = value  # noqa: PERF403 - a comprehension is a call more
    if "facts" in fields:
        fields.update(fields.pop("facts"))
    return fields
