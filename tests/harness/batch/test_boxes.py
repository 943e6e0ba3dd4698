"""A batch keeps to the box that it began with."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from harness.batch import boxes
from policies import Isolation, Limits
from runners import Probe, Session, SessionSpec


class EmptySession:
    """Lives, and can be closed."""

    async def resolve(self, *_: object) -> None:
        return

    async def list_dir(self, **_: object) -> None:
        return

    async def close(self) -> None:
        return


class CountingRunner:
    """A box that counts its sweeps and its sessions."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.swept = 0
        self.opened = 0

    async def probe(self) -> Probe:
        raise NotImplementedError

    async def open(self, spec: SessionSpec) -> Session:
        self.opened += 1
        return EmptySession()  # type: ignore[return-value]

    async def sweep(self) -> Sequence[str]:
        self.swept += 1
        return ("swept",)


@pytest.fixture
def made() -> list[CountingRunner]:
    """The boxes that were chosen."""
    return []


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, made: list[CountingRunner]) -> list[str]:
    """Which boxes were asked for; `auto` is bubblewrap."""
    names: list[str] = []

    async def choose(name: str, *_: object) -> CountingRunner:
        names.append(name)
        made.append(CountingRunner("bubblewrap" if name == "auto" else name))
        return made[-1]

    monkeypatch.setattr(boxes, "choose", choose)
    return names


async def test_a_box_is_chosen_once(asked: list[str]) -> None:
    async with boxes.SharedBoxes(1) as shared:
        first = await shared.choose("process", Isolation.PROCESS)
        second = await shared.choose("process", Isolation.PROCESS)
    assert (first is second, asked) == (True, ["process"])


async def test_what_auto_came_to_is_asked_for_after_a_failure(asked: list[str]) -> None:
    async with boxes.SharedBoxes(1) as shared:
        await shared.choose("auto", Isolation.NAMESPACE)
        shared.forget()
        await shared.choose("auto", Isolation.NAMESPACE)
    assert asked == ["auto", "bubblewrap"]


async def test_only_the_first_run_sweeps(asked: list[str]) -> None:
    async with boxes.SharedBoxes(1) as shared:
        runner = await shared.choose("process", Isolation.PROCESS)
        assert [await runner.sweep(), await runner.sweep()] == [("swept",), ()]


@pytest.mark.usefixtures("asked")
async def test_no_session_is_started_that_no_run_will_take(made: list[CountingRunner]) -> None:
    async with boxes.SharedBoxes(3) as shared:
        shared.expect(4)
        runner = await shared.choose("docker", Isolation.CONTAINER)
        for _ in range(4):
            await (await runner.open(SessionSpec(run="r", limits=Limits()))).close()
            while made[-1].opened < 4:  # the others are started behind the first
                await asyncio.sleep(0)
    assert made[-1].opened == 4
