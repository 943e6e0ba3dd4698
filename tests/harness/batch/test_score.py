"""What a batch comes to: best attempts, pass@k, the order of codes, bars."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.batch import BatchOptions, batch_code
from harness.batch.attempt import Attempt
from harness.batch.job import BatchJob, Entry
from harness.batch.score import Score, score


def made(codes: dict[str, list[int]], *, baseline: set[str] | None = None, **more: int) -> Score:
    names = [*codes, *(f"skipped-{i}" for i in range(more.pop("skipped", 0)))]
    entries = tuple(Entry(name, Path(name)) for name in names)
    kept = None if baseline is None else frozenset(baseline)
    job = BatchJob(BatchOptions(()), entries, Path(), False, kept)
    attempts = [
        Attempt(name, number, 1, code, {}, None)
        for name, all_ in codes.items()
        for number, code in enumerate(all_, 1)
    ]
    return score(job, attempts, **more)


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ([0, 0], 0),
        ([0, 1], 1),
        ([1, 4], 4),
        ([4, 5], 5),
        ([5, 6], 6),
        ([6, 7], 7),
        ([7, 8], 8),
        ([8, 3], 3),
        ([1, 2], 2),
    ],
)
def test_the_worst_task_decides(codes: list[int], code: int) -> None:
    assert batch_code(made({str(i): [c] for i, c in enumerate(codes)})) == code


def test_a_task_counts_by_its_best_attempt() -> None:
    assert batch_code(made({"a": [1, 0, 7]})) == 0


def test_a_signal_stands_above_all() -> None:
    assert batch_code(made({"a": [3]}, stopped=143)) == 143


@pytest.mark.parametrize(
    ("codes", "bar", "code"),
    [
        ([0, 1, 1, 0], 0.5, 0),
        ([0, 1, 5, 6], 0.5, 1),
        ([0, 0, 0, 3], 0.5, 3),
        ([0, 0, 0, 7], 1.0, 7),
    ],
)
def test_with_a_bar_what_did_not_pass_only_counts(codes: list[int], bar: float, code: int) -> None:
    found = made({str(i): [c] for i, c in enumerate(codes)})
    assert batch_code(found, min_pass=bar) == code


def test_with_a_baseline_only_regressions_fail() -> None:
    codes = {"a": [1], "b": [0], "c": [6]}
    fine = made(codes, baseline={"b"})
    worse = made(codes, baseline={"a", "b"})
    assert (batch_code(fine), batch_code(worse), worse.regressions) == (0, 1, ("a",))


def test_tasks_that_were_not_run_did_not_pass() -> None:
    found = made({"a": [0]}, skipped=1)
    assert (batch_code(found), found.share) == (1, 0.5)


def test_pass_at_k_is_the_unbiased_estimate() -> None:
    found = made({"a": [0, 1, 1, 1], "b": [0, 0, 1, 1]})
    assert {k: round(v, 4) for k, v in found.pass_at().items()} == {
        1: 0.375,
        2: 0.6667,
        3: 0.875,
        4: 1.0,
    }
