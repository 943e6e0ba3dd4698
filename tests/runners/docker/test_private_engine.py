"""With an engine of our own: it dies, it comes back, and it runs containers under gVisor."""

from __future__ import annotations

import asyncio
import os
import shutil

import pytest

from policies import Isolation, Limits
from runners.contract import SessionSpec
from runners.docker import DockerRunner
from runners.docker.engine import Engine
from runners.docker.proof import Proofs
from runners.errors import LostError
from runners.outcome import Ending
from tests.runners.docker.conftest import SMALL, Box
from tests.runners.docker.machine_image import machine_tar
from tests.runners.docker.private_engine import PrivateEngine

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start an engine"),
    pytest.mark.skipif(shutil.which("dockerd") is None, reason="dockerd is not installed"),
    # The SDK loses the socket of a connection that fails; an engine that dies makes some fail.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

RUNSC = shutil.which("runsc")
needs_runsc = pytest.mark.skipif(RUNSC is None, reason="runsc is not installed (apt: runsc)")
REFUSAL = (
    "runsc-no-limits does not enforce the limit of memory and processes: a container exceeded it"
)
GVISOR_LIMITS = Limits(wall_seconds=30, memory_mib=192, disk_mib=64, processes=16)


@pytest.fixture(scope="module")
def private():
    # On kernel 6.18 the runsc of Debian 12 takes every network namespace for the host's.
    loose = [RUNSC or "/nonexistent", "--platform=ptrace"]
    strict = [*loose, "--network=none"]
    runtimes = {
        "runsc": strict,
        "runsc-no-limits": [*strict, "--ignore-cgroups"],
        "runsc-network": loose,
    }
    engine = PrivateEngine(runtimes=runtimes)
    try:
        engine.start()
        load_image(engine)
        yield engine
    finally:
        engine.remove()


def load_image(engine: PrivateEngine) -> None:
    import docker

    client = docker.APIClient(base_url=engine.endpoint.url, version="auto")
    client.import_image_from_data(machine_tar(), repository="machine", tag="test")
    client.close()


@pytest.fixture
async def make_runner(private, proofs):
    made: list[DockerRunner] = []

    def make(**options) -> DockerRunner:
        engine = Engine(private.endpoint)
        made.append(DockerRunner(engine, image="machine:test", proofs=proofs, **options))
        return made[-1]

    yield make
    for runner in made:
        await runner.close()


def spec(run: str, limits: Limits = SMALL) -> SessionSpec:
    return SessionSpec(run=run, image="machine:test", limits=limits)


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_an_engine_that_ends_under_way_is_told_and_after_its_start_nothing_is_left(
    end, private, make_runner, run
):
    runner = make_runner()
    box = Box(await runner.open(spec(run)))
    call = asyncio.create_task(box.run("sleep", "100"))
    assert (await box.run("true")).ok
    await asyncio.to_thread(getattr(private, end))
    with pytest.raises(LostError, match=r"the Docker engine is gone|was killed|code 0"):
        await call
    await box.session.close()
    probe = await make_runner().probe()
    assert not probe.ok
    assert str(private.socket) in probe.reason

    private.start()
    again = make_runner()
    fresh = Box(await again.open(spec(run)))
    assert (await fresh.run("true")).ok
    await fresh.session.close()
    assert await containers(private) == []


async def containers(private: PrivateEngine) -> list[str]:
    """What the engine has, after it had the time to remove what is ending."""
    engine = Engine(private.endpoint)
    try:
        for _ in range(100):
            found = await engine.containers("stockade.session")
            if not found:
                return []
            await asyncio.sleep(0.1)
        return [str(entry["Status"]) for entry in found]
    finally:
        await engine.close()


@needs_runsc
async def test_a_session_under_gvisor_has_a_kernel_of_its_own(make_runner, run):
    runner = make_runner(runtime="runsc")
    probe = await runner.probe()
    assert (probe.ok, probe.isolation) == (True, Isolation.KERNEL), probe.reason
    box = Box(await runner.open(spec(run, GVISOR_LIMITS)))
    try:
        assert box.session.isolation is Isolation.KERNEL
        said = await box.sh("cat /proc/version; id -u")
        assert "Linux version 4.4.0" in said.stdout.text()
        assert said.stdout.text().endswith("\n1000\n")
    finally:
        await box.session.close()


@needs_runsc
async def test_under_gvisor_a_timeout_ends_what_hides(make_runner, run):
    box = Box(await make_runner(runtime="runsc").open(spec(run, GVISOR_LIMITS)))
    try:
        limits = Limits(wall_seconds=2, memory_mib=192, disk_mib=64, processes=16)
        outcome = await box.sh("(setsid sleep 4321 &); sleep 1000", limits=limits)
        assert outcome.ending is Ending.TIMED_OUT
        left = await box.sh("cat /proc/[0-9]*/cmdline")
        assert "4321" not in left.stdout.text().replace("\0", " ").split("sleep ")[-1]
    finally:
        await box.session.close()


@needs_runsc
@pytest.mark.slow
async def test_a_runtime_that_ignores_limits_is_refused(make_runner):
    probe = await make_runner(runtime="runsc-no-limits").probe()
    assert (probe.ok, probe.reason) == (
        False,
        REFUSAL,
    )


@needs_runsc
async def test_a_runtime_that_cannot_start_is_refused_with_its_words(private, tmp_path):
    engine = Engine(private.endpoint)
    runner = DockerRunner(
        engine, runtime="runsc-network", image="machine:test", proofs=Proofs(tmp_path)
    )
    probe = await runner.probe()
    await runner.close()
    if probe.ok:
        pytest.skip("this runsc knows the box's network namespace from the host's")
    assert "runtimeArgs in daemon.json" in probe.cure
