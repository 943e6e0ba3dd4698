"""A note to a model that repeats itself. It advises and never blocks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from harness.hook import Accept, Block, CallInfo, Draft, PostDecision

__all__ = ["RepeatGuard"]

AT = (3, 5, 8)
"""The numbers of identical consecutive calls that are worth a note."""


class RepeatGuard:
    """A post-execute hook that counts identical consecutive calls."""

    def __init__(self, at: tuple[int, ...] = AT) -> None:
        self._at = frozenset(at)
        self._last: tuple[str, str] | None = None
        self._count = 0

    async def __call__(
        self, call: CallInfo, draft: Draft, call_next: Callable[[], Awaitable[PostDecision]], /
    ) -> PostDecision:
        """Let the result pass, with a note where it is due."""
        decision = await call_next()
        key = (call.name, call.raw)
        self._count = self._count + 1 if key == self._last else 1
        self._last = key
        if self._count not in self._at:
            return decision
        note = (
            f"[You have called {call.name} {self._count} times in a row with the same arguments; "
            f"the result {'will not change' if draft.ok else 'is a failure each time'}. "
            "Try something else.]"
        )
        contexts = (*decision.contexts, note)
        if isinstance(decision, Block):
            return Block(decision.reason, contexts)
        return Accept(decision.value, decision.content, contexts)
