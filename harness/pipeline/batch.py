"""All calls of one reply: what runs together, what waits, and results in the model's order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from harness.message import ToolCall
from harness.pipeline.admission import Admission
from harness.pipeline.case import Case
from harness.pipeline.conclusion import Conclusion
from harness.pipeline.dispatch import Dispatch
from harness.result import Failure, FailureKind, ToolResult
from harness.signal import Signal
from runners import RunnerError

__all__ = ["Batch", "Scheduler"]

_Line: TypeAlias = deque[tuple[Case, asyncio.Task[None] | None]]
"""Calls that were started and not concluded, in the model's order; None: it is over."""


@dataclass(slots=True)
class Batch:
    """What came of a batch: a result for every call, in order.

    Attributes:
        results: one for each call, whatever happened.
        denials: calls that the policy, a hook, a guard or the operator refused.
        unanswered: questions that nobody answered.
        broken: the box failed; the results are whole all the same.
    """

    results: list[ToolResult] = field(default_factory=list)
    denials: int = 0
    unanswered: int = 0
    broken: RunnerError | None = None


@dataclass(slots=True)
class Scheduler:
    """Runs batches.

    Promises:
     1. Verdicts and approvals come first, in order; then bodies; results in the model's order.
     2. Consecutive calls that are safe to overlap share a pool; every other one is a barrier.
        Whether one is safe, and whether its tool is still there, is asked right before its start.
     3. After cancellation, a spent budget or a broken box nothing new starts, and every call that
        did not run has a result that says so.
    """

    admission: Admission
    dispatch: Dispatch
    conclusion: Conclusion
    pool: int

    async def run(self, calls: Sequence[ToolCall], *, step: int, signal: Signal) -> Batch:
        """Run the calls of one reply."""
        batch = Batch()
        cases = await self._admit(calls, step, signal, batch)
        if len(cases) == 1:  # nothing that it could overlap with
            [case] = cases
            if case.ready:
                self._look_again(case)
                await self._run_one(case, batch)
            await self._conclude(case, batch)
            return batch
        line: _Line = deque()
        try:
            for case in cases:
                shared = await self._turn(case, line, batch)
                line.append((case, await self._start(case, batch, shared=shared)))
            while line:
                await self._settle(line, batch)
        finally:
            await _end(line)
        return batch

    async def _admit(
        self, calls: Sequence[ToolCall], step: int, signal: Signal, batch: Batch
    ) -> list[Case]:
        cases: list[Case] = []
        for call in calls:
            try:
                case = await self.admission.admit(call, step=step, signal=signal)
            except RunnerError as error:
                batch.broken = error
                case = self.admission.dropped(call, step, signal, FailureKind.ABORTED, _BROKEN)
            cases.append(case)
            reason = _BROKEN if batch.broken else self._over(case)
            if reason is not None:
                kind = FailureKind.ABORTED if batch.broken else FailureKind.OVER_BUDGET
                rest = calls[len(cases) :]
                cases += [
                    self.admission.dropped(late, step, signal, kind, reason, told=False)
                    for late in rest
                ]
                break
        return cases

    def _over(self, case: Case) -> str | None:
        """Why nothing more of this batch is looked at, or None."""
        if self.admission.ledger.exceeded is None or not isinstance(case.outcome, Failure):
            return None
        if case.outcome.kind is not FailureKind.OVER_BUDGET:
            return None
        return "the run's budget is spent"

    async def _turn(self, case: Case, line: _Line, batch: Batch) -> bool:
        """Wait until a call may start; whether others may overlap with it."""
        while True:
            shared = _overlaps(case)
            if not line or not case.ready or (shared and len(_running(line)) < self.pool):
                return shared
            await self._settle(line, batch)

    async def _start(self, case: Case, batch: Batch, *, shared: bool) -> asyncio.Task[None] | None:
        """Run a call: to its end, or beside others."""
        if not case.ready:
            return None
        self._look_again(case)
        if shared:
            return asyncio.create_task(self._run_one(case, batch))
        await self._run_one(case, batch)
        return None

    async def _settle(self, line: _Line, batch: Batch) -> None:
        """Wait until a started call is over; conclude those whose turn has come."""
        running = _running(line)
        if running:
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for _, task in line:
            if task is not None and task.done():
                task.result()  # a broken log ends the batch here
        while line and (line[0][1] is None or line[0][1].done()):
            await self._conclude(line.popleft()[0], batch)

    def _look_again(self, case: Case) -> None:
        """Refuse a tool that earlier calls of the batch took away; what was judged is not there."""
        name = case.call.name
        entry = self.admission.registry.entry(name)
        if entry is case.entry:
            return
        self._release(case)
        change = "removed" if entry is None else "replaced"
        message = f"{name}: not executed, the tool was {change} since the call was looked at"
        case.fail(FailureKind.UNKNOWN_TOOL, message, code="TOOL_CHANGED")

    async def _run_one(self, case: Case, batch: Batch) -> None:
        if not case.ready:
            return
        if case.signal.cancelled or batch.broken is not None:
            self._drop(case, _BROKEN if batch.broken else "the run was cancelled")
            return
        try:
            await self.dispatch.dispatch(case)
        except RunnerError as error:
            if batch.broken is None:
                batch.broken = error
            case.fail(
                FailureKind.ABORTED,
                f"{case.call.name}: the box failed while it ran; its outcome is unknown",
                code="BOX_FAILED",
                type=type(error).__name__,
                skip_post=True,
            )

    def _drop(self, case: Case, why: str) -> None:
        self._release(case)
        message = f"{case.call.name}: not executed, {why}"
        case.fail(FailureKind.ABORTED, message, code="ABORTED_BEFORE_DISPATCH", skip_post=True)

    def _release(self, case: Case) -> None:
        if case.reserved:
            case.reserved = False
            self.dispatch.ledger.release(case.call.name)

    async def _conclude(self, case: Case, batch: Batch) -> None:
        batch.denials += case.denied
        batch.unanswered += case.unanswered
        batch.results.append(await self.conclusion.conclude(case))


_BROKEN = "the box failed"


def _running(line: _Line) -> list[asyncio.Task[None]]:
    return [task for _, task in line if task is not None and not task.done()]


async def _end(line: _Line) -> None:
    """Leave nothing behind when a batch ends early."""
    tasks = [task for _, task in line if task is not None]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.gather(*tasks, return_exceptions=True)


def _overlaps(case: Case) -> bool:
    """Whether a call declares itself safe to overlap; only a plain True counts."""
    if case.entry is None:
        return False
    safe = case.entry.tool.concurrency_safe
    if callable(safe):
        try:
            safe = safe(case.given)
        except Exception:  # a classifier that cannot decide means: alone
            return False
    return safe is True
