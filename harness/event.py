"""What happens in a run, as a closed union of typed payloads: one class for each record type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

__all__ = [
    "ApprovalAsked",
    "ApprovalDecided",
    "Event",
    "ModelAttempted",
    "ModelReplied",
    "ModelRequested",
    "Notice",
    "Payload",
    "RunEnd",
    "RunResumed",
    "RunStart",
    "StepEnd",
    "StepStart",
    "ToolCalled",
    "ToolFinished",
    "ToolJudged",
    "VerifyEnd",
    "VerifyStart",
]

_Facts: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunStart:
    """A run begins. ``facts`` are further keys of the record: policy, image, model, budgets."""

    type: ClassVar[str] = "run/start"
    facts: _Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StepStart:
    """A step begins; it counts once its reply is accepted."""

    type: ClassVar[str] = "step/start"


@dataclass(frozen=True, slots=True)
class ModelRequested:
    """A request goes out.

    The messages themselves are in the records before: ``added`` holds those of them that no
    other record has (system, user and context messages since the last request); ``digest`` chains
    all messages so far, ``omitted`` counts those that trimming left out, ``tools`` is there
    whenever the list differs from that of the last request.
    """

    type: ClassVar[str] = "model/request"
    messages: int
    digest: str
    added: tuple[_Facts, ...] = ()
    omitted: int | None = None
    tools: tuple[_Facts, ...] | None = None


@dataclass(frozen=True, slots=True)
class ModelAttempted:
    """One try at a provider."""

    type: ClassVar[str] = "model/attempt"
    number: int
    model: str
    ok: bool
    error: str | None = None
    status: int | None = None
    wait_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ModelReplied:
    """A reply was accepted. ``usage`` is there only as far as the provider reported it."""

    type: ClassVar[str] = "model/reply"
    text: str
    calls: tuple[_Facts, ...]
    duration_seconds: float
    usage: _Facts | None = None
    model: str | None = None
    repairs: tuple[str, ...] | None = None
    reasoning: tuple[_Facts, ...] | None = None
    cut: bool | None = None


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A call is about to be looked at; ``arguments`` is the raw text. ``origin``: model, task."""

    type: ClassVar[str] = "tool/call"
    name: str
    arguments: str
    origin: str = "model"


@dataclass(frozen=True, slots=True)
class ToolJudged:
    """The policy's verdict on a call."""

    type: ClassVar[str] = "tool/verdict"
    name: str
    decision: str
    reason: str
    message: str | None = None
    rule: str | None = None
    line: str | None = None
    word: int | None = None
    stage: int | None = None
    runs_code: bool | None = None
    isolation: str | None = None
    policy: str | None = None
    action: Any = None


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """A question is put to the operator."""

    type: ClassVar[str] = "approval/asked"
    name: str
    summary: str
    reason: str
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalDecided:
    """The answer: allowed, rejected, cancelled or unavailable; only the first permits."""

    type: ClassVar[str] = "approval/decided"
    name: str
    answer: str
    by: str
    reason: str | None = None
    duration_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """The final result of a call, whatever came of it; ``outcome`` is what the tool's facts say."""

    type: ClassVar[str] = "tool/result"
    name: str
    ok: bool
    content: str
    duration_seconds: float
    error: _Facts | None = None
    contexts: tuple[str, ...] | None = None
    artifact: _Facts | None = None
    outcome: _Facts | None = None


@dataclass(frozen=True, slots=True)
class StepEnd:
    """A step is over; ``status`` is there when the run ends with it."""

    type: ClassVar[str] = "step/end"
    calls: int
    duration_seconds: float
    status: str | None = None


@dataclass(frozen=True, slots=True)
class VerifyStart:
    """Verification begins, in a fresh session."""

    type: ClassVar[str] = "verify/start"
    facts: _Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VerifyEnd:
    """What verification found."""

    type: ClassVar[str] = "verify/end"
    facts: _Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunResumed:
    """A run goes on after a crash."""

    type: ClassVar[str] = "run/resumed"
    facts: _Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that whoever reads the log should know; ``kind`` is a stable word."""

    type: ClassVar[str] = "notice"
    kind: str
    text: str
    detail: _Facts | None = None


@dataclass(frozen=True, slots=True)
class RunEnd:
    """A run is over."""

    type: ClassVar[str] = "run/end"
    status: str
    facts: _Facts = field(default_factory=dict)


Payload: TypeAlias = (
    RunStart
    | StepStart
    | ModelRequested
    | ModelAttempted
    | ModelReplied
    | ToolCalled
    | ToolJudged
    | ApprovalAsked
    | ApprovalDecided
    | ToolFinished
    | StepEnd
    | VerifyStart
    | VerifyEnd
    | RunResumed
    | Notice
    | RunEnd
)


@dataclass(frozen=True, slots=True)
class Event:
    """A payload with its place in the run.

    Attributes:
        payload: what happened.
        run: the run's id.
        step: the number of the step, from 1; 0 outside of steps.
        call: the id of the call that it belongs to, or None.
        t: monotonic seconds.
    """

    payload: Payload
    run: str
    step: int
    call: str | None
    t: float

    @property
    def type(self) -> str:
        """The record type."""
        return self.payload.type
