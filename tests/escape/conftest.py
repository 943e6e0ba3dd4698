"""The boxes of this machine, sessions in them, and attacks to run there."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from policies import FromText, Limits, Pipeline, Stage
from runners.contract import Runner, Session, SessionSpec
from runners.outcome import Outcome

PROGRAMS = Path(__file__).parent / "programs"
Opening = Callable[..., AbstractAsyncContextManager["Box"]]


def docker_box() -> Runner:
    from runners.docker import DockerRunner

    return DockerRunner()


def bubblewrap_box() -> Runner:
    from runners.bubblewrap import BubblewrapRunner

    return BubblewrapRunner()


def process_box() -> Runner:
    from runners.process import ProcessRunner

    return ProcessRunner()


def plain_process_box() -> Runner:
    from runners.process import ProcessRunner

    return ProcessRunner(namespaces=False)


BOXES = [
    pytest.param(docker_box, id="docker", marks=pytest.mark.docker),
    pytest.param(bubblewrap_box, id="bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param(process_box, id="process"),
    pytest.param(plain_process_box, id="plain-process", marks=pytest.mark.slow),
]


@dataclass(frozen=True)
class Box:
    """A session, with short ways to attack it."""

    session: Session
    limits: Limits
    build: Callable[[str], bytes]

    async def run(
        self, *argv: str, wall: float | None = None, stdin: bytes | None = None, **options: Any
    ) -> Outcome:
        limits = None if wall is None else replace(self.limits, wall_seconds=wall)
        source = None if stdin is None else FromText(stdin)
        return await self.session.run(
            Pipeline((Stage(argv, stdin=source),)), limits=limits, **options
        )

    async def python(self, code: str, *arguments: str, **options: Any) -> Outcome:
        return await self.run("python3", "-c", code, *arguments, **options)

    async def said(self, code: str, *arguments: str) -> str:
        """What a Python program says; it ends well."""
        outcome = await self.python(code, *arguments)
        assert (outcome.ok, outcome.stderr.text()) == (True, "")
        return outcome.stdout.text().strip()

    async def attack(self, name: str, *arguments: str, **options: Any) -> Outcome:
        """Compile a program of ``programs/``, put it into the workspace, run it."""
        await self.session.write_file(name, self.build(name), mode=0o755)
        return await self.run(f"./{name}", *arguments, **options)

    async def is_well(self) -> bool:
        """The session still does what it is for."""
        outcome = await self.run("echo", "well")
        written = await self.session.write_file("well", b"well")
        return (outcome.stdout.text(), getattr(written, "size", 0)) == ("well\n", 4)


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bytes]:
    """Static machine code of a C program, made once."""
    folder = tmp_path_factory.mktemp("attacks")

    def made(name: str) -> bytes:
        target = folder / name
        if not target.exists():
            compiler = shutil.which("gcc")
            if compiler is None:
                pytest.skip("gcc is not installed (apt-get install gcc libc6-dev)")
            argv = [compiler, "-O1", "-static", "-w", "-o", target, PROGRAMS / f"{name}.c"]
            subprocess.run(argv, check=True)
        return target.read_bytes()

    return made


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=BOXES)
async def runner(request: pytest.FixtureRequest) -> AsyncIterator[Runner]:
    """One runner for a module, as an operator has."""
    found: Runner = request.param()
    probe = await found.probe()
    if not probe.ok:
        pytest.skip(f"{probe.name}: {probe.reason}")
    yield found
    if hasattr(found, "close"):
        await found.close()


@pytest.fixture
def open_box(runner: Runner, build: Callable[[str], bytes]) -> Opening:
    """Opens a box of one's own, under limits of one's own."""

    @contextlib.asynccontextmanager
    async def block(**limits: float) -> AsyncIterator[Box]:
        held = Limits(**limits)
        session = await runner.open(SessionSpec(run="escape", limits=held))
        try:
            yield Box(session, held, build)
        finally:
            await session.close()

    return block


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def box(runner: Runner, build: Callable[[str], bytes]) -> AsyncIterator[Box]:
    """A box that several tests share: its programs do no lasting harm."""
    limits = Limits(wall_seconds=20)
    session = await runner.open(SessionSpec(run="escape", limits=limits))
    yield Box(session, limits, build)
    await session.close()


class Clock:
    """Seconds that a block took."""

    def __enter__(self) -> Clock:
        self.began = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.monotonic() - self.began
