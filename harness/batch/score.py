"""Tasks by their best attempt, pass@k, the baseline, the exit code (decision 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from harness.batch.attempt import Attempt
from harness.batch.job import BatchJob

__all__ = ["ORDER", "Score", "TaskScore", "batch_code", "score", "worst"]

ORDER = (143, 130, 129, 3, 8, 7, 6, 5, 4, 2, 1, 0)
"""From worst to best. 2 (a task that cannot be used) stands just above not passed."""

_NOT_PASSED = frozenset({1, 5, 6})
"""With --min-pass or --baseline these count as not passed; the others stand."""


@dataclass(frozen=True, slots=True)
class TaskScore:
    """One task: its attempts, and the one by which it counts."""

    name: str
    attempts: tuple[Attempt, ...]

    @property
    def best(self) -> Attempt:
        """The best attempt by the order of codes."""
        return max(self.attempts, key=lambda attempt: ORDER.index(_known(attempt.exit_code)))

    @property
    def passed(self) -> bool:
        """Whether any attempt passed."""
        return self.best.passed

    def pass_at(self, k: int) -> float:
        """Chance that at least one of k attempts passes, estimated without bias.

        Source: Chen et al. 2021, "Evaluating Large Language Models Trained on Code", section 2.1:
        1 - C(n-c, k) / C(n, k) for n attempts of which c passed.
        """
        n, c = len(self.attempts), sum(a.passed for a in self.attempts)
        return 1.0 - comb(n - c, k) / comb(n, k)


@dataclass(frozen=True, slots=True)
class Score:
    """The whole batch.

    Attributes:
        tasks: those that were run, in the batch's order.
        skipped: names of those that were not (fail-fast, deadline, Ctrl-C).
        regressions: names that passed in the baseline and did not pass now.
        stopped: 130 or 143 where a signal ended the batch, else None.
        late: the batch's own deadline ended it.
    """

    tasks: tuple[TaskScore, ...]
    skipped: tuple[str, ...] = ()
    regressions: tuple[str, ...] | None = None
    stopped: int | None = None
    late: bool = False

    @property
    def passed(self) -> int:
        """How many tasks passed."""
        return sum(task.passed for task in self.tasks)

    @property
    def share(self) -> float:
        """Passed tasks of all, those that were not run included; 0 for none."""
        total = len(self.tasks) + len(self.skipped)
        return self.passed / total if total else 0.0

    def pass_at(self) -> dict[int, float]:
        """pass@k over all tasks, for every k that all of them have attempts for."""
        if not self.tasks:
            return {}
        most = min(len(task.attempts) for task in self.tasks)
        return {
            k: sum(task.pass_at(k) for task in self.tasks) / len(self.tasks)
            for k in range(1, most + 1)
        }


def score(
    job: BatchJob,
    attempts: Sequence[Attempt],
    *,
    stopped: int | None = None,
    late: bool = False,
) -> Score:
    """What the attempts come to."""
    by_name: dict[str, list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda a: a.number):
        by_name.setdefault(attempt.task, []).append(attempt)
    tasks = tuple(
        TaskScore(entry.name, tuple(by_name[entry.name]))
        for entry in job.entries
        if entry.name in by_name
    )
    skipped = tuple(entry.name for entry in job.entries if entry.name not in by_name)
    regressions = None
    if job.baseline is not None:
        passed = {task.name for task in tasks if task.passed}
        names = (entry.name for entry in job.entries)
        regressions = tuple(n for n in names if n in job.baseline and n not in passed)
    return Score(tasks, skipped, regressions, stopped, late)


def batch_code(found: Score, *, min_pass: float | None = None) -> int:
    """The exit code of a batch.

    The worst of its tasks, each by its best attempt. With a bar (`min_pass` or a baseline) the
    codes 1, 5 and 6 of tasks only count as not passed, and the bar decides between 1 and 0.
    """
    if found.stopped is not None:
        return found.stopped
    codes = [_known(task.best.exit_code) for task in found.tasks]
    if found.late:
        codes.append(6)
    barred = min_pass is not None or found.regressions is not None
    if not barred:
        if found.skipped and not found.late:
            codes.append(1)
        return min(codes, key=ORDER.index, default=0)
    standing = [code for code in codes if code not in _NOT_PASSED]
    missed = (min_pass is not None and found.share < min_pass) or bool(found.regressions)
    return min([*standing, 1 if missed else 0], key=ORDER.index)


def worst(*codes: int) -> int:
    """The worst of some exit codes."""
    return min(map(_known, codes), key=ORDER.index)


def _known(code: int) -> int:
    return code if code in ORDER else 3
