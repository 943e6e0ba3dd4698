"""The whole way of a call, put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.approval import ANSWER_SECONDS, Approver
from harness.artifact import ArtifactStore
from harness.budget import Budget, Ledger
from harness.bus import Events
from harness.hook import Hooks
from harness.judge import Judge
from harness.message import ToolCall
from harness.pipeline.admission import Admission
from harness.pipeline.batch import Batch, Scheduler
from harness.pipeline.conclusion import CONTENT_CHARACTERS, Conclusion
from harness.pipeline.dispatch import Dispatch
from harness.registry import Registry
from harness.result import ToolResult, render_text
from harness.signal import Signal

__all__ = ["Pipeline"]


class Pipeline:
    """parse, look up, validate, hooks, verdict, approval, guards, budget, body, result.

    Promises:
     1. There is no way to a body around the checks, and none to the model around the rest.
     2. Whatever a call does, it has exactly one result; nothing is raised but a broken box or log.
     3. Nothing overrules a guard, and no hook turns a denial into a success.
    """

    def __init__(  # noqa: PLR0913 - all by keyword, all with a default
        self,
        registry: Registry,
        *,
        hooks: Hooks | None = None,
        judge: Judge | None = None,
        approver: Approver | None = None,
        events: Events | None = None,
        ledger: Ledger | None = None,
        artifacts: ArtifactStore | None = None,
        root: str = "/workspace",
        render: Callable[[Any], str] = render_text,
        content_characters: int = CONTENT_CHARACTERS,
        timeout_seconds: float = 60.0,
        grace_seconds: float = 2.0,
        answer_seconds: float = ANSWER_SECONDS,
        pool: int = 10,
    ) -> None:
        self.registry = registry
        self.hooks = hooks or Hooks()
        self.events = events or Events()
        self.ledger = ledger or Ledger(Budget())
        self.grace_seconds = grace_seconds
        self._scheduler = Scheduler(
            Admission(
                registry,
                self.hooks,
                self.ledger,
                self.events,
                judge,
                approver,
                root,
                answer_seconds,
            ),
            Dispatch(self.hooks, self.ledger, timeout_seconds, grace_seconds),
            Conclusion(self.hooks, self.events, render, content_characters, artifacts),
            pool,
        )

    async def run(
        self, calls: Sequence[ToolCall], *, step: int = 1, signal: Signal | None = None
    ) -> Batch:
        """Run the calls of one reply; a result for each, in order."""
        return await self._scheduler.run(calls, step=step, signal=signal or Signal())

    async def call(self, call: ToolCall, *, signal: Signal | None = None) -> ToolResult:
        """Run a single call; a broken box raises."""
        batch = await self.run([call], signal=signal)
        if batch.broken is not None:
            raise batch.broken
        return batch.results[0]
