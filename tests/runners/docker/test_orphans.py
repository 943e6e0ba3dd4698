"""When a harness dies, also by SIGKILL, its boxes end; what stays is swept, and nothing else."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import secrets
import subprocess
import sys
import time
from pathlib import Path

import pytest

from policies import Limits
from runners.docker.interpreter import TOOLS_LABEL
from runners.docker.labels import Labels
from runners.docker.spec import ContainerOptions, container_spec
from runners.owner import Owner

pytestmark = pytest.mark.docker

SCRIPT = Path(__file__).with_name("harness_process.py")
DEAD = dataclasses.replace(Owner.me(), start="1")


class Harness:
    """A harness that can be killed at a moment that it announced."""

    def __init__(self, *args: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, SCRIPT, *args], stdout=subprocess.PIPE, text=True
        )

    def wait_for(self, word: str) -> None:
        for line in self.process.stdout:
            if line.strip() == word:
                return
        raise AssertionError(f"the harness ended before it said {word!r}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def harness(machine_image, run, proofs, ours):
    started: list[Harness] = []

    def start(what: str) -> Harness:
        started.append(Harness(machine_image, run, str(proofs.folder), what))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.kill()


def running(ours) -> list[str]:
    return [key for key, value in ours().items() if value["State"] == "running"]


async def gone(ours, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while running(ours):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True


@pytest.mark.parametrize("what", ["idle", "busy", "flood", "stop"])
async def test_no_container_runs_three_seconds_after_its_harness_was_killed(what, harness, ours):
    one = harness(what)
    one.wait_for("open" if what == "idle" else "running")
    assert running(ours)
    one.kill()
    assert await gone(ours, 3)
    await asyncio.to_thread(wait_removed, ours)


def wait_removed(ours) -> None:
    deadline = time.monotonic() + 10
    while ours() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert ours() == {}


@pytest.mark.parametrize("delay", [0.02, 0.1, 0.25])
async def test_a_harness_that_is_killed_during_a_start_leaves_nothing_that_runs(
    delay, harness, ours, runner
):
    one = harness("idle")
    one.wait_for("starting")
    await asyncio.sleep(delay)
    one.kill()
    assert await gone(ours, 3)
    await runner.sweep()
    await asyncio.to_thread(wait_removed, ours)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_harness_that_is_killed_at_any_moment_leaves_nothing_after_the_next_start(
    harness, ours, runner
):
    chance = random.Random(20221219)
    for number in range(50):
        one = harness(chance.choice(["idle", "busy", "flood", "stop"]))
        one.wait_for("starting")
        await asyncio.sleep(chance.uniform(0, 1.5))
        one.kill()
        assert await gone(ours, 3), f"kill {number}"
        await runner.sweep()
    await asyncio.to_thread(wait_removed, ours)


@pytest.fixture
def create(api, machine_image, run, ours):
    """Create a container that is never started, as if its harness had died right then."""
    made: list[str] = []

    def create(owner: Owner, *, name: str | None = None) -> str:
        name = name or f"stockade-{secrets.token_hex(6)}"
        labels = Labels(name, run, owner).mapping()
        options = ContainerOptions(machine_image, ["true"], (1000, 1000), Limits(), labels)
        made.append(api.create_container_from_config(container_spec(options), name)["Id"])
        return made[-1]

    yield create
    for container in made:
        remove_if_there(api, container)


def remove_if_there(api, container: str) -> None:
    from docker.errors import NotFound

    try:
        api.remove_container(container, force=True, v=True)
    except NotFound:
        return


async def test_a_sweep_takes_what_the_dead_left_and_leaves_the_rest(create, runner, ours):
    left = create(DEAD)
    kept = {
        create(Owner.me()),
        create(dataclasses.replace(DEAD, host="f" * 16, boot="another")),
        create(DEAD, name=f"database-{secrets.token_hex(6)}"),
    }
    removed = await runner.sweep()
    assert left not in ours()
    assert kept <= ours().keys()
    assert len(removed) >= 1


@pytest.fixture
def create_volume(api, run):
    """A volume of a workspace, as a harness makes one."""
    made: list[str] = []

    def create_volume(owner: Owner) -> str:
        made.append(f"stockade-{secrets.token_hex(6)}-workspace")
        api.create_volume(made[-1], labels=Labels(made[-1], run, owner).mapping())
        return made[-1]

    yield create_volume
    left = {volume["Name"] for volume in api.volumes()["Volumes"] or []}
    for name in left & set(made):
        api.remove_volume(name)


async def test_a_sweep_takes_volumes_of_the_dead_only(create_volume, runner, api):
    dead, kept = create_volume(DEAD), create_volume(Owner.me())
    await runner.sweep()
    left = {volume["Name"] for volume in api.volumes()["Volumes"] or []}
    assert (dead in left, kept in left) == (False, True)


async def test_a_sweep_takes_interpreters_of_images_that_are_gone_only(machine_image, runner, api):
    gone, kept = (f"stockade-python-{secrets.token_hex(6)}" for _ in range(2))
    api.create_volume(gone, labels={TOOLS_LABEL: f"sha256:{'0' * 64}"})
    api.create_volume(kept, labels={TOOLS_LABEL: machine_image})
    await runner.sweep()
    left = {volume["Name"] for volume in api.volumes()["Volumes"] or []}
    assert (gone in left, kept in left) == (False, True)


async def test_of_two_harnesses_the_living_one_keeps_its_box(harness, ours, runner):
    alive, dead = harness("idle"), harness("idle")
    alive.wait_for("open")
    dead.wait_for("open")
    dead.kill()
    await runner.sweep()
    assert len(running(ours)) == 1
    alive.kill()
    assert await gone(ours, 3)
    await asyncio.to_thread(wait_removed, ours)
