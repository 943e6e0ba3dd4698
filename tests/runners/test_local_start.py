"""Starts of local boxes that do not come to their end: nothing stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from runners.bubblewrap import BubblewrapRunner
from runners.bubblewrap import runner as bubblewrap_module
from runners.contract import Runner, SessionSpec
from runners.errors import StartError
from runners.process import ProcessRunner
from runners.process import runner as process_module
from runners.supervisor import Payload

BOXES = [
    pytest.param(BubblewrapRunner, id="bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param(ProcessRunner, id="process"),
    pytest.param(lambda: ProcessRunner(namespaces=False), id="plain-process"),
]
BROKEN = Payload("import sys; sys.exit('it does not start')", b"x" * 1000)


def held() -> tuple[int, list[psutil.Process]]:
    """Descriptors and children of this process."""
    return len(list(Path("/proc/self/fd").iterdir())), psutil.Process().children(recursive=True)


async def once(runner: Runner) -> None:
    await (await runner.open(SessionSpec(run="start"))).close()


@pytest.mark.parametrize("make", BOXES)
async def test_a_start_can_be_cancelled_at_any_moment(make: Callable[[], Runner]) -> None:
    runner = make()
    await once(runner)
    before = held()
    for milliseconds in (0, 2, 4, 7, 11, 16, 25, 40):
        opening = asyncio.create_task(runner.open(SessionSpec(run="start")))
        await asyncio.sleep(milliseconds / 1000)
        opening.cancel()
        try:
            await (await opening).close()
        except asyncio.CancelledError:
            continue
    assert held() == before


@pytest.mark.parametrize("make", BOXES)
async def test_a_supervisor_that_does_not_start_is_told_with_its_last_words(
    make: Callable[[], Runner], monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = make()
    await once(runner)
    before = held()
    for module in (bubblewrap_module, process_module):
        monkeypatch.setattr(module, "payload", lambda: BROKEN)
    with pytest.raises(StartError, match="it does not start"):
        await runner.open(SessionSpec(run="start"))
    assert held() == before


@pytest.mark.parametrize("make", BOXES)
async def test_a_probe_leaves_nothing(make: Callable[[], Runner]) -> None:
    before = held()
    assert (await make().probe()).ok
    assert held() == before
