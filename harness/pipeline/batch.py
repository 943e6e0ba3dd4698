"""All calls of one reply: what runs together, what waits, and results in the model's order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.message import ToolCall
from harness.pipeline.admission import Admission
from harness.pipeline.case import Case
from harness.pipeline.conclusion import Conclusion
from harness.pipeline.dispatch import Dispatch
from harness.result import Failure, FailureKind, ToolResult
from harness.signal import Signal
from runners import RunnerError

__all__ = ["Batch", "Scheduler"]


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
     3. After cancellation, a spent budget or a broken box nothing new starts, and every call that
        did not run has a result that says so.
    """

    admission: Admission
    dispatch: Dispatch
    conclusion: Conclusion
    pool: int = 10

    async def run(self, calls: Sequence[ToolCall], *, step: int, signal: Signal) -> Batch:
        """Run the calls of one reply."""
        batch = Batch()
        cases = await self._admit(calls, step, signal, batch)
        index = 0
        while index < len(cases):
            group = self._group(cases, index)
            await self._run_group(group, batch)
            index += len(group)
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

    def _group(self, cases: Sequence[Case], start: int) -> Sequence[Case]:
        """The cases from ``start`` that may run together; at least one."""
        end = start
        while end < len(cases) and (not cases[end].ready or _overlaps(cases[end])):
            end += 1
        return cases[start : max(end, start + 1)]

    async def _run_group(self, group: Sequence[Case], batch: Batch) -> None:
        running = [case for case in group if case.ready]
        if len(running) <= 1:
            for case in group:
                await self._run_one(case, batch)
                await self._conclude(case, batch)
            return
        pool = asyncio.Semaphore(self.pool)

        async def run(case: Case) -> None:
            async with pool:
                await self._run_one(case, batch)

        tasks = {id(case): asyncio.create_task(run(case)) for case in running}
        try:
            for case in group:
                if id(case) in tasks:
                    await tasks[id(case)]
                await self._conclude(case, batch)
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)

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
        if case.reserved:
            case.reserved = False
            self.dispatch.ledger.release(case.call.name)
        message = f"{case.call.name}: not executed, {why}"
        case.fail(FailureKind.ABORTED, message, code="ABORTED_BEFORE_DISPATCH", skip_post=True)

    async def _conclude(self, case: Case, batch: Batch) -> None:
        batch.denials += case.denied
        batch.unanswered += case.unanswered
        batch.results.append(await self.conclusion.conclude(case))


_BROKEN = "the box failed"


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
