"""A supervisor as a plain child process, in a folder of its own: no isolation but its own."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from policies import Isolation, Limits, Pipeline, Stage
from runners import Outcome
from runners.channel import PipeChannel
from runners.client import SupervisedSession, connect
from runners.setup import Setup
from runners.supervisor import payload

PYTHON = os.environ.get("STOCKADE_TEST_PYTHON", "/usr/bin/python3")
"""The interpreter of the boxes; any from 3.8 on."""

UID = 1_879_060_000 + os.getpid() % 5000 if os.geteuid() == 0 else None
"""As root the programs get a uid that nobody else has, so that kill(-1) and NPROC may be used."""


@dataclass
class Place:
    """Folders of one session, and the mark that its processes carry in their environment."""

    top: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def workspace(self) -> Path:
        return self.top / "workspace"

    def setup(self, **changes: Any) -> Setup:
        made = Setup(
            roots={"workspace": str(self.workspace), "tmp": str(self.top / "tmp")},
            limits=Limits(wall_seconds=20, processes=64),
            env=(("PATH", "/usr/bin:/bin"), ("HOME", str(self.top)), ("MARK", self.mark)),
            uid=UID,
            alone=UID is not None,
            nproc=UID is not None,
        )
        return replace(made, **changes)

    def alive(self) -> list[str]:
        """Command lines of living processes that carry the mark."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    if self.mark.encode() in (folder / "environ").read_bytes():
                        found.append((folder / "cmdline").read_bytes().decode())
                except OSError:
                    continue
        return found


Open = Callable[..., Awaitable[SupervisedSession]]


@pytest.fixture
def place() -> Iterator[Place]:
    top = Path(tempfile.mkdtemp(prefix="stockade-test-"))
    top.chmod(0o755)
    made = Place(top)
    for name in ("workspace", "tmp"):
        (top / name).mkdir()
        if UID is not None:
            os.chown(top / name, UID, UID)
    yield made
    shutil.rmtree(top)


@pytest.fixture
async def open_session(place: Place) -> AsyncIterator[Open]:
    """Open sessions in the test's place; they are closed at its end."""
    sessions: list[SupervisedSession] = []

    async def opened(**changes: Any) -> SupervisedSession:
        channel = await PipeChannel.start(payload().argv(PYTHON))
        session = await connect(
            channel, place.setup(**changes), id="test", isolation=Isolation.PROCESS, image={}
        )
        sessions.append(session)
        return session

    yield opened
    for session in sessions:
        await session.close()


@pytest.fixture
async def session(open_session: Open) -> SupervisedSession:
    return await open_session()


def stage(*argv: str, **more: Any) -> Stage:
    return Stage(argv, **more)


def one(*argv: str, **more: Any) -> Pipeline:
    """A pipeline of one program."""
    return Pipeline((stage(*argv, **more),))


def python(code: str, **more: Any) -> Pipeline:
    return one("python3", "-c", code, **more)


def shell(code: str, **more: Any) -> Pipeline:
    return one("sh", "-c", code, **more)


def text(outcome: Outcome) -> str:
    return outcome.stdout.text()
