"""Sessions of a batch end behind the runs, and all of them have ended when the batch has."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.batch.closing import ClosedBehind, Closing
from policies import Limits
from runners import Probe, RunnerError, Session, SessionSpec

SPEC = SessionSpec(run="r", limits=Limits())


class SlowSession:
    """Takes as long to close as the test wants."""

    id = "slow"

    def __init__(self, box: SlowBox) -> None:
        self.box = box

    async def close(self) -> None:
        self.box.begun += 1
        await self.box.may_end.wait()
        self.box.ended += 1
        if self.box.error is not None:
            raise self.box.error


class SlowBox:
    """A box whose sessions close when they are let."""

    name = "slow"

    def __init__(self) -> None:
        self.begun = self.ended = 0
        self.error: RunnerError | None = None
        self.may_end = asyncio.Event()

    async def probe(self) -> Probe:
        raise NotImplementedError

    async def sweep(self) -> Sequence[str]:
        return ("swept",)

    async def open(self, spec: SessionSpec) -> Session:
        return SlowSession(self)  # type: ignore[return-value]


@pytest.fixture
async def slow() -> SlowBox:
    return SlowBox()


async def test_a_run_does_not_wait_for_the_end_of_its_session(slow: SlowBox) -> None:
    closing = Closing()
    await (await ClosedBehind(slow, closing).open(SPEC)).close()
    assert slow.ended == 0
    slow.may_end.set()
    await closing.wait()
    assert slow.ended == 1


async def test_a_session_that_is_closed_twice_ends_once(slow: SlowBox) -> None:
    closing = Closing()
    session = await ClosedBehind(slow, closing).open(SPEC)
    slow.may_end.set()
    await session.close()
    await session.close()
    await closing.wait()
    assert slow.ended == 1


async def test_one_closing_too_many_waits_for_an_earlier_one(slow: SlowBox) -> None:
    closing = Closing(most=1)
    runner = ClosedBehind(slow, closing)
    await (await runner.open(SPEC)).close()
    last = asyncio.ensure_future((await runner.open(SPEC)).close())
    await asyncio.wait([last], timeout=0.05)
    assert not last.done()
    slow.may_end.set()
    await last
    await closing.wait()


async def test_a_folder_in_place_is_let_go_of_before_the_run_goes_on(
    slow: SlowBox, tmp_path: Path
) -> None:
    spec = SessionSpec(run="r", limits=Limits(), in_place=tmp_path)
    slow.may_end.set()
    await (await ClosedBehind(slow, Closing()).open(spec)).close()
    assert slow.ended == 1


async def test_what_cannot_be_removed_is_left_to_a_later_sweep(slow: SlowBox) -> None:
    closing = Closing()
    slow.error = RunnerError("the engine is gone")
    slow.may_end.set()
    await (await ClosedBehind(slow, closing).open(SPEC)).close()
    await closing.wait()
    assert slow.ended == 1


async def test_all_else_is_the_sessions_own(slow: SlowBox) -> None:
    runner = ClosedBehind(slow, Closing())
    session = await runner.open(SPEC)
    assert (session.id, runner.name, await runner.sweep()) == ("slow", "slow", ("swept",))
