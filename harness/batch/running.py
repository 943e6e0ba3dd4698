"""Runs the plan of a batch: side by side, retried, stopped in order, taken up again."""

from __future__ import annotations

import asyncio
import os
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from harness.batch.attempt import INFRASTRUCTURE, Attempt, finished_attempt
from harness.batch.boxes import SharedBoxes
from harness.batch.job import BatchJob, Entry
from harness.batch.score import Score, score
from harness.batch.share import MemoryShare, total_mib
from harness.batch.watch import BatchWatch, Quiet
from harness.errors import ConfigError
from harness.run import Stop, make_job, run_job
from harness.run.audience import Silence
from harness.run.box import Box
from harness.task import TaskError
from policies import PolicyFileError
from runners import RunnerError

__all__ = ["run_batch"]

WAIT_SECONDS = 60.0
"""How long a retry waits for a box to work again (an engine that is restarted)."""

POLL_SECONDS = 1.0

SESSIONS = 2
"""What most runs open: one for the agent, one for the verification."""

REFUSALS = 5
"""A box that works and refuses a session so often is not waited for any longer."""


async def run_batch(job: BatchJob, *, stop: Stop, watch: BatchWatch | None = None) -> Score:
    """Run every attempt that is not finished yet; returns what all of them come to.

    Attempts start in a fixed order. A stop ends the runs under way in order and starts no more.
    """
    async with SharedBoxes(job.options.jobs) as boxes:
        return await _Batch(job, stop, watch or Quiet(), boxes).run()


@dataclass(slots=True)
class _Batch:
    job: BatchJob
    stop: Stop
    watch: BatchWatch
    boxes: SharedBoxes
    memory: MemoryShare = field(default_factory=lambda: MemoryShare(total_mib()))
    attempts: list[Attempt] = field(default_factory=list)
    halted: bool = False
    late: bool = False

    async def run(self) -> Score:
        options = self.job.options
        waiting = list(self._open())
        self.boxes.expect(SESSIONS * len(waiting))
        todo = iter(waiting)
        alarm = None
        if options.deadline is not None:
            alarm = asyncio.get_running_loop().call_later(options.deadline, self._deadline)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, options.jobs)):
                    group.create_task(self._work(todo))
        finally:
            if alarm is not None:
                alarm.cancel()
        stopped = None if self.late else self.stop.code
        return score(self.job, self.attempts, stopped=stopped, late=self.late)

    def _open(self) -> Iterator[tuple[Entry, int]]:
        """What is still to be run; finished attempts of an earlier start are taken over."""
        options = self.job.options
        for number in range(1, options.attempts + 1):
            for entry in self.job.entries:
                done = finished_attempt(entry.name, number, self._place(entry, number))
                if done is None:
                    yield entry, number
                else:
                    self.attempts.append(done)
        if self.attempts:
            self.watch.say(f"{len(self.attempts)} attempts were finished before")

    async def _work(self, todo: Iterator[tuple[Entry, int]]) -> None:
        for entry, number in todo:
            if self.halted or self.stop.requested:
                return
            self.watch.began(entry, number)
            attempt = await self._attempt(entry, number)
            if attempt is None:
                return
            self.attempts.append(attempt)
            total = len(self.job.entries) * self.job.options.attempts
            self.watch.ended(attempt, len(self.attempts), total)
            if self.job.options.fail_fast and not attempt.passed:
                self.halted = True

    async def _attempt(self, entry: Entry, number: int) -> Attempt | None:
        """One attempt with its retries; None where it was cancelled."""
        place = self._place(entry, number)
        tries = len(list(place.glob("try-*"))) if place.exists() else 0
        last = tries + 1 + self.job.options.retries
        while True:
            tries += 1
            attempt = await self._try(entry, number, tries, place / f"try-{tries}")
            if self.stop.requested:
                return None
            if attempt.exit_code != INFRASTRUCTURE or tries >= last:
                return attempt
            self.watch.say(f"{entry.name}: {attempt.result.get('error')}; trying again")
            await self._box_works(entry)

    async def _try(self, entry: Entry, number: int, tries: int, out: Path) -> Attempt:
        options = replace(self.job.options.run, task=entry.folder, out=out)
        try:
            run = make_job(options)
            async with self.memory.of(run.limits.memory_mib + run.limits.disk_mib):
                report = await run_job(
                    run, audience=Silence(), stop=self.stop, chooser=self.boxes.choose
                )
        except (ConfigError, TaskError, PolicyFileError) as error:
            failed = {"status": "infrastructure", "verdict": "none", "error": str(error)}
            return Attempt(entry.name, number, tries, 2, failed, None)
        except Exception as error:  # one task, whatever it holds, does not end the others
            return self._broken(entry, number, tries, error)
        folder = report.folder.path
        return Attempt(entry.name, number, tries, report.exit_code, report.record, folder)

    def _broken(self, entry: Entry, number: int, tries: int, error: Exception) -> Attempt:
        """What stands for an attempt that failed in a way that nobody has foreseen."""
        said = f"internal error: {type(error).__name__}: {error}"
        if os.environ.get("STOCKADE_DEBUG"):
            self.watch.say("".join(traceback.format_exception(error)))
        failed = {"status": "infrastructure", "verdict": "none", "error": said}
        return Attempt(entry.name, number, tries, INFRASTRUCTURE, failed, None)

    async def _box_works(self, entry: Entry) -> None:
        """Wait, within bounds, until a box for this task can be had again."""
        self.boxes.forget()
        until, refusals = time.monotonic() + WAIT_SECONDS, 0
        while time.monotonic() < until and not self.stop.requested:
            answer = await self._can_open(entry)
            refusals += answer == "refused"
            if answer in ("opened", "no task") or refusals == REFUSALS:
                return
            await asyncio.sleep(POLL_SECONDS)

    async def _can_open(self, entry: Entry) -> Literal["opened", "refused", "no box", "no task"]:
        """Whether a session can be opened; a box that works and refuses will go on to refuse."""
        try:
            made = make_job(replace(self.job.options.run, task=entry.folder))
        except Exception:
            return "no task"
        settings: dict[str, Any] = {
            "run": "probe",
            "limits": made.limits,
            "workdir": made.task.workdir,
        }
        try:
            box = await Box.choose(
                made.wish, made.policy.isolation, chooser=self.boxes.choose, **settings
            )
        except RunnerError:
            self.boxes.forget()
            return "no box"
        try:
            await box.open()
        except RunnerError:
            self.boxes.forget()
            return "refused"
        await box.close()
        return "opened"

    def _place(self, entry: Entry, number: int) -> Path:
        return self.job.folder / "runs" / f"{entry.name}.{number}"

    def _deadline(self) -> None:
        self.late = True
        self.watch.say("the time of the batch is over")
        self.stop.request(130)
