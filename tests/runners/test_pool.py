"""Sessions are ready before they are asked for, and none serves twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from policies import Limits
from runners.contract import SessionSpec
from runners.errors import LostError, UnavailableError
from runners.pool import Pool


class PlainSession:
    """As much of a session as a pool touches."""

    def __init__(self, spec: SessionSpec) -> None:
        self.spec = spec
        self.lost = False
        self.used = 0
        self.closed = asyncio.Event()

    async def resolve(self, name, search):
        if self.lost:
            raise LostError("gone")

    async def list_dir(self, path=".", *, root="workspace", limit=1000):
        if self.lost:
            raise LostError("gone")
        self.used += 1

    async def close(self) -> None:
        self.closed.set()


class PlainRunner:
    """Opens plain sessions and remembers them."""

    name = "plain"

    def __init__(self) -> None:
        self.opened: list[PlainSession] = []
        self.refusal: Exception | None = None

    async def open(self, spec):
        if self.refusal is not None:
            raise self.refusal
        await asyncio.sleep(0)
        self.opened.append(PlainSession(spec))
        return self.opened[-1]


SPEC = SessionSpec(run="r1")


@pytest.fixture
def runner():
    return PlainRunner()


async def test_a_warm_pool_gives_a_session_that_was_started_before(runner):
    async with Pool(runner, size=1) as pool:
        await pool.warm(SPEC)
        ready = list(runner.opened)
        assert await pool.open(SPEC) is ready[0]


async def test_runs_share_a_pool_and_never_a_session(runner):
    async with Pool(runner, size=2) as pool:
        taken = [await pool.open(SessionSpec(run=f"r{n}")) for n in range(8)]
    assert len({id(session) for session in taken}) == 8


async def test_sessions_of_other_limits_are_not_given(runner):
    small = SessionSpec(run="r2", limits=Limits(memory_mib=64))
    async with Pool(runner, size=1) as pool:
        await pool.warm(SPEC)
        assert (await pool.open(small)).spec.limits == small.limits


async def test_a_taken_session_is_replaced(runner):
    async with Pool(runner, size=1) as pool:
        await pool.warm(SPEC)
        await pool.open(SPEC)
        await pool.warm(SPEC)
        assert len(runner.opened) == 2


async def test_a_session_on_the_shelf_has_its_first_operation_behind_it(runner):
    async with Pool(runner, size=1) as pool:
        await pool.warm(SPEC)
        assert [session.used for session in runner.opened] == [1]


async def test_a_pool_that_is_to_keep_none_starts_no_more(runner):
    async with Pool(runner, size=1) as pool:
        await pool.warm(SPEC)
        pool.keep(0)
        await pool.open(SPEC)
        await pool.warm(SPEC)
        assert len(runner.opened) == 1


async def test_a_session_that_died_on_the_shelf_is_not_given(runner):
    async with Pool(runner, size=1) as pool:
        await pool.warm(SPEC)
        dead = runner.opened[0]
        dead.lost = True
        assert await pool.open(SPEC) is not dead
        await dead.closed.wait()


async def test_the_end_of_the_pool_closes_what_was_not_taken_and_nothing_else(runner):
    async with Pool(runner, size=2) as pool:
        await pool.warm(SPEC)
        taken = await pool.open(SPEC)
    assert {s.closed.is_set() for s in runner.opened if s is not taken} == {True}
    assert not taken.closed.is_set()


async def test_an_unused_session_is_closed_after_its_idle_time(runner):
    async with Pool(runner, size=1, idle_seconds=0) as pool:
        await pool.warm(SPEC)
        await runner.opened[0].closed.wait()
        assert await pool.open(SPEC) is not runner.opened[0]


async def test_a_box_that_cannot_be_opened_says_so_to_who_asks(runner):
    runner.refusal = UnavailableError("no engine")
    async with Pool(runner) as pool:
        await pool.warm(SPEC)
        with pytest.raises(UnavailableError, match="no engine"):
            await pool.open(SPEC)


async def test_a_session_in_place_is_never_pooled(runner, tmp_path: Path):
    spec = SessionSpec(run="r", in_place=tmp_path)
    async with Pool(runner, size=3) as pool:
        await pool.open(spec)
    assert len(runner.opened) == 1
