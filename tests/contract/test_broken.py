"""A suite that passes all proves nothing: each broken box fails its own checks, and no others."""

from __future__ import annotations

import pytest

from runners.conformance import CHECKS, check_box, run_check
from runners.process import ProcessRunner
from tests.contract.broken import BROKEN, BrokenRunner


@pytest.fixture(scope="module")
def real() -> ProcessRunner:
    return ProcessRunner()


@pytest.mark.slow
@pytest.mark.parametrize("promise", BROKEN)
async def test_a_broken_box_fails_exactly_the_checks_of_its_promise(
    real: ProcessRunner, promise: int
) -> None:
    runner = BrokenRunner(real, BROKEN[promise])
    failed = {
        item.promise: item.name async for item in check_box(runner) if item.status == "failed"
    }
    assert set(failed) == {promise}, failed


@pytest.mark.parametrize("promise", BROKEN)
async def test_a_broken_box_fails_a_check_of_its_promise(real: ProcessRunner, promise: int) -> None:
    runner = BrokenRunner(real, BROKEN[promise])
    names = [check.name for check in CHECKS if check.promise == promise]
    async for item in check_box(runner, only=names):
        if item.status == "failed":
            assert item.reason
            return
    pytest.fail(f"no check of promise {promise} noticed")


async def test_a_known_gap_that_fails_is_told_as_a_gap(real: ProcessRunner) -> None:
    runner = BrokenRunner(real, BROKEN[10])
    check = next(check for check in CHECKS if check.name == "closing-twice-is-fine")
    item = await run_check(runner, check, "python", "closing once is all it can")
    assert (item.status, item.reason) == ("gap", "closing once is all it can")


async def test_a_known_gap_that_passes_is_a_failure(real: ProcessRunner) -> None:
    check = next(check for check in CHECKS if check.name == "exit-codes-are-told")
    item = await run_check(real, check, "python", "it cannot")
    assert (item.status, item.reason) == ("failed", "listed as a gap, but it passes: it cannot")
