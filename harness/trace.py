"""Spans made of events: what took how long, inside what. A subscriber, like any other."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.event import Event, RunEnd, StepEnd, ToolFinished

__all__ = ["Span", "Tracer"]


@dataclass(slots=True)
class Span:
    """A stretch of time: a run, a step, a model request or a call.

    Attributes:
        name: run, step, model, or the tool's name.
        start, end: monotonic seconds; ``end`` is None while it goes on.
        step: the step that it belongs to.
        call: the call's id, or None.
        ok: how a call ended, or None.
        parts: the spans inside, in order.
    """

    name: str
    start: float
    step: int = 0
    call: str | None = None
    end: float | None = None
    ok: bool | None = None
    parts: list[Span] = field(default_factory=list)

    @property
    def seconds(self) -> float | None:
        """How long it took, None while it goes on."""
        return None if self.end is None else self.end - self.start


class Tracer:
    """Builds the tree of spans of each run: ``events.subscribe(tracer)``."""

    def __init__(self) -> None:
        self.runs: list[Span] = []
        self._step: Span | None = None
        self._calls: dict[str, Span] = {}

    def __call__(self, event: Event) -> None:
        """Take one event."""
        kind, at = event.type, event.t
        if kind == "run/start":
            self.runs.append(Span("run", at))
        elif kind == "step/start":
            self._step = Span("step", at, event.step)
            self._parent().append(self._step)
        elif kind == "model/request" and self._step is not None:
            self._step.parts.append(Span("model", at, event.step))
        elif kind == "model/reply" and self._step is not None:
            self._step.parts[-1].end = at
        elif kind == "tool/call" and self._step is not None and event.call is not None:
            name = getattr(event.payload, "name", "")
            self._calls[event.call] = Span(str(name), at, event.step, event.call)
            self._step.parts.append(self._calls[event.call])
        else:
            self._close(event)

    def _close(self, event: Event) -> None:
        payload, at = event.payload, event.t
        if isinstance(payload, ToolFinished) and event.call in self._calls:
            span = self._calls.pop(event.call or "")
            span.end, span.ok = at, payload.ok
        elif isinstance(payload, StepEnd) and self._step is not None:
            for part in (self._step, *self._step.parts):
                part.end = at if part.end is None else part.end
            self._step = None
        elif isinstance(payload, RunEnd) and self.runs:
            self.runs[-1].end = at

    def _parent(self) -> list[Span]:
        if not self.runs:
            self.runs.append(Span("run", self._step.start if self._step else 0.0))
        return self.runs[-1].parts
