"""Attachment points of the call pipeline: middleware, guards and observers.

Middleware is a coroutine function that gets ``call_next`` last: awaiting it runs everything
inside, and may be done again (a retry re-runs it all); not awaiting it takes the call over.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from harness.errors import RegistrationError
from harness.result import Failure, Success, ToolResult
from harness.signal import Signal

__all__ = [
    "Accept",
    "Allow",
    "AroundHook",
    "Ask",
    "Block",
    "CallInfo",
    "Decision",
    "Deny",
    "Draft",
    "Guard",
    "Hooks",
    "Observer",
    "PostDecision",
    "PostHook",
    "PreHook",
]


@dataclass(frozen=True, slots=True)
class CallInfo:
    """What hooks, guards and observers see of a call.

    Attributes:
        id, name, raw: as the model wrote them.
        arguments: the validated arguments, frozen; None where they are not valid.
        known: a tool of this name is visible.
        tier: the tool's label; None is unknown, and counts as the most dangerous.
        step: the step that it belongs to.
        signal: cancelled with the run.
    """

    id: str
    name: str
    raw: str
    arguments: Mapping[str, Any] | None
    known: bool
    tier: str | None
    step: int
    signal: Signal


@dataclass(frozen=True, slots=True)
class Allow:
    """Go on."""


@dataclass(frozen=True, slots=True)
class Deny:
    """Do not run it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Let the operator decide."""

    reason: str


Decision: TypeAlias = Allow | Deny | Ask


class _Unset:
    """Marks what a decision does not replace; None is a value."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = _Unset()


@dataclass(frozen=True, slots=True)
class Accept:
    """Keep the result, with another value or another content (not both), and with notes."""

    value: Any = UNSET
    content: str | None = None
    contexts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """Make it a failure."""

    reason: str
    contexts: tuple[str, ...] = ()


PostDecision: TypeAlias = Accept | Block


@dataclass(frozen=True, slots=True)
class Draft:
    """A result as post-execute hooks see it: value and content, or a failure."""

    outcome: Success | Failure
    content: str

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return isinstance(self.outcome, Success)


class PreHook(Protocol):
    """Decides before the body: return Allow, Deny or Ask."""

    def __call__(
        self, call: CallInfo, call_next: Callable[[], Awaitable[Decision]], /
    ) -> Awaitable[Decision]:
        """Decide, or await ``call_next`` and return what it says."""
        ...


class Around(Protocol):
    """Runs what is inside; ``signal`` adds one that also cancels the body."""

    def __call__(self, signal: Signal | None = None, /) -> Awaitable[Success | Failure]:
        """Run it once; each further start takes one more from the budget."""
        ...


class AroundHook(Protocol):
    """Runs around the body: timeout, retry, metrics."""

    def __call__(self, call: CallInfo, call_next: Around, /) -> Awaitable[Success | Failure]:
        """Run what is inside, or give an outcome in its place."""
        ...


class PostHook(Protocol):
    """Decides on a result: return Accept or Block."""

    def __call__(
        self, call: CallInfo, draft: Draft, call_next: Callable[[], Awaitable[PostDecision]], /
    ) -> Awaitable[PostDecision]:
        """Decide, or await ``call_next`` and return what it says."""
        ...


Guard: TypeAlias = Callable[[CallInfo], str | None]
"""Standing policy of the owner: returns why not, or None. It has no way to allow."""

Observer: TypeAlias = Callable[[CallInfo, ToolResult], Any]
"""Is told of every final result."""

_T = TypeVar("_T")


class Hooks:
    """What is attached to a pipeline. Each registration returns what takes it back."""

    def __init__(self) -> None:
        self.pre: list[PreHook] = []
        self.around: list[AroundHook] = []
        self.post: list[PostHook] = []
        self.guards: list[Guard] = []
        self.observers: list[Observer] = []

    def before(self, hook: PreHook, *, prepend: bool = False) -> Callable[[], None]:
        """Decide before the body."""
        return _attach(self.pre, hook, prepend=prepend)

    def wrap(self, hook: AroundHook, *, prepend: bool = False) -> Callable[[], None]:
        """Run around the body."""
        return _attach(self.around, hook, prepend=prepend)

    def after(self, hook: PostHook, *, prepend: bool = False) -> Callable[[], None]:
        """Decide on the result."""
        return _attach(self.post, hook, prepend=prepend)

    def guard(self, guard: Guard) -> Callable[[], None]:
        """Refuse calls; nothing overrules a guard."""
        return _attach(self.guards, guard)

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Be told of final results."""
        return _attach(self.observers, observer)


def _attach(where: list[_T], hook: _T, *, prepend: bool = False) -> Callable[[], None]:
    if not callable(hook):
        raise RegistrationError(f"a hook must be callable, not a {type(hook).__name__}")
    where.insert(0 if prepend else len(where), hook)

    def dispose() -> None:
        for index, other in enumerate(where):
            if other is hook:
                del where[index]
                return

    return dispose
