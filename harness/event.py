"""What happens in a run, as a closed union of typed payloads: one class for each record type.

Named tuples: nobody can change them, and a run makes many.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

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
_NONE: _Facts = MappingProxyType({})


class RunStart(NamedTuple):
    """A run begins. ``facts`` are further keys of the record: policy, image, model, budgets."""

    facts: _Facts = _NONE

    @property
    def type(self) -> str:
        """The record type."""
        return "run/start"


class StepStart(NamedTuple):
    """A step begins; it counts once its reply is accepted."""

    @property
    def type(self) -> str:
        """The record type."""
        return "step/start"


class ModelRequested(NamedTuple):
    """A request goes out.

    The messages themselves are in the records before: ``added`` holds those of them that no
    other record has (system, user and context messages since the last request); ``digest`` chains
    all messages so far, ``omitted`` counts those that trimming left out, ``tools`` is there
    whenever the list differs from that of the last request.
    """

    messages: int
    digest: str
    added: tuple[_Facts, ...] = ()
    omitted: int | None = None
    tools: tuple[_Facts, ...] | None = None

    @property
    def type(self) -> str:
        """The record type."""
        return "model/request"


class ModelAttempted(NamedTuple):
    """One try at a provider."""

    number: int
    model: str
    ok: bool
    error: str | None = None
    status: int | None = None
    wait_seconds: float | None = None

    @property
    def type(self) -> str:
        """The record type."""
        return "model/attempt"


class ModelReplied(NamedTuple):
    """A reply was accepted. ``usage`` is there only as far as the provider reported it."""

    text: str
    calls: tuple[_Facts, ...]
    duration_seconds: float
    usage: _Facts | None = None
    model: str | None = None
    repairs: tuple[str, ...] | None = None
    reasoning: tuple[_Facts, ...] | None = None
    cut: bool | None = None

    @property
    def type(self) -> str:
        """The record type."""
        return "model/reply"


class ToolCalled(NamedTuple):
    """A call is about to be looked at; ``arguments`` is the raw text. ``origin``: model, task."""

    name: str
    arguments: str
    origin: str = "model"

    @property
    def type(self) -> str:
        """The record type."""
        return "tool/call"


class ToolJudged(NamedTuple):
    """The policy's verdict on a call."""

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

    @property
    def type(self) -> str:
        """The record type."""
        return "tool/verdict"


class ApprovalAsked(NamedTuple):
    """A question is put to the operator."""

    name: str
    summary: str
    reason: str
    rule: str | None = None

    @property
    def type(self) -> str:
        """The record type."""
        return "approval/asked"


class ApprovalDecided(NamedTuple):
    """The answer: allowed, rejected, cancelled or unavailable; only the first permits."""

    name: str
    answer: str
    by: str
    reason: str | None = None
    duration_seconds: float = 0.0

    @property
    def type(self) -> str:
        """The record type."""
        return "approval/decided"


class ToolFinished(NamedTuple):
    """The final result of a call, whatever came of it; ``outcome`` is what the tool's facts say."""

    name: str
    ok: bool
    content: str
    duration_seconds: float
    error: _Facts | None = None
    contexts: tuple[str, ...] | None = None
    artifact: _Facts | None = None
    outcome: _Facts | None = None

    @property
    def type(self) -> str:
        """The record type."""
        return "tool/result"


class StepEnd(NamedTuple):
    """A step is over; ``status`` is there when the run ends with it."""

    calls: int
    duration_seconds: float
    status: str | None = None

    @property
    def type(self) -> str:
        """The record type."""
        return "step/end"


class VerifyStart(NamedTuple):
    """Verification begins, in a fresh session."""

    facts: _Facts = _NONE

    @property
    def type(self) -> str:
        """The record type."""
        return "verify/start"


class VerifyEnd(NamedTuple):
    """What verification found."""

    facts: _Facts = _NONE

    @property
    def type(self) -> str:
        """The record type."""
        return "verify/end"


class RunResumed(NamedTuple):
    """A run goes on after a crash."""

    facts: _Facts = _NONE

    @property
    def type(self) -> str:
        """The record type."""
        return "run/resumed"


class Notice(NamedTuple):
    """Something that whoever reads the log should know; ``kind`` is a stable word."""

    kind: str
    text: str
    detail: _Facts | None = None

    @property
    def type(self) -> str:
        """The record type."""
        return "notice"


class RunEnd(NamedTuple):
    """A run is over."""

    status: str
    facts: _Facts = _NONE

    @property
    def type(self) -> str:
        """The record type."""
        return "run/end"


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


class Event(NamedTuple):
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
