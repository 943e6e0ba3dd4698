"""The streams of a container: bytes go both ways, the end is certain, and its reason is known."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from pathlib import Path

import pytest

from policies import Limits
from runners.docker.attach import attach
from runners.docker.channel import AttachChannel
from runners.docker.endpoint import find_endpoint
from runners.docker.engine import Engine
from runners.docker.labels import Labels
from runners.docker.spec import ContainerOptions, container_spec
from runners.docker.stream import dial
from runners.owner import Owner

pytestmark = pytest.mark.docker

LIMITS = Limits(memory_mib=32, disk_mib=16, processes=16)


@pytest.fixture
async def engine():
    engine = Engine(find_endpoint(os.environ, Path.home()))
    yield engine
    await engine.close()


@pytest.fixture
def start(engine, machine_image, run):
    """Start a program as the first process of a box; its channel."""

    async def start(*command: str) -> AttachChannel:
        name = f"stockade-{secrets.token_hex(6)}"
        labels = Labels(name, run, Owner.me()).mapping()
        options = ContainerOptions(machine_image, command, (1000, 1000), LIMITS, labels)
        container, _ = await engine.create(container_spec(options), name)
        stream = await dial(engine.endpoint)
        await attach(stream, await engine.api_version(), container)
        await engine.start(container)
        return AttachChannel(engine, stream, container, end_seconds=0.5)

    return start


async def read_all(channel: AttachChannel, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := await channel.read(1 << 16)):
        data += piece
    return data


async def test_bytes_come_back_as_they_went(start, ours):
    channel = await start("cat")
    sent = secrets.token_bytes(3 << 20)
    reading = asyncio.create_task(read_all(channel, len(sent)))
    await channel.write(sent)
    assert await reading == sent
    await channel.close()


async def heard(channel: AttachChannel) -> tuple[bytes, int]:
    """All that a listener is given, and how often the end."""
    data, ends, over = [], [], asyncio.Event()

    def hear(piece: bytes) -> None:
        data.append(piece)
        if not piece:
            ends.append(piece)
            over.set()

    assert await channel.listen(hear)
    await over.wait()
    await asyncio.sleep(0)
    return b"".join(data), len(ends)


async def test_a_listener_hears_also_what_came_before_it(start, ours):
    channel = await start("bash", "-c", "echo early; echo aside >&2; read; echo late")
    await channel.write(b"\n")
    early = await channel.read(3)
    assert await heard(channel) == (b"early\nlate\n".removeprefix(early), 1)
    await channel.close()


async def test_a_listener_is_told_the_end_when_its_reason_is_known(start, ours):
    channel = await start("bash", "-c", "echo last words >&2; exit 3")
    assert await heard(channel) == (b"", 1)
    reason = "the box's first process ended with code 3\nlast words"
    assert channel.diagnosis() == reason
    await channel.close()


async def test_a_box_with_a_listener_is_gone_after_close(start, ours):
    channel = await start("cat")
    listening = asyncio.create_task(heard(channel))
    await channel.write(b"said")
    await asyncio.sleep(0)
    await channel.close()
    assert await listening == (b"said", 1)
    assert ours() == {}


async def test_after_close_the_container_is_gone(start, ours):
    channel = await start("cat")
    assert list(ours()) == [channel.container]
    await channel.close()
    await channel.close()
    assert ours() == {}


async def test_a_box_that_does_not_hear_the_end_is_killed(start, ours):
    channel = await start("sleep", "1000")
    began = time.monotonic()
    await channel.close()
    assert ours() == {}
    assert time.monotonic() - began < 10


async def test_a_cancelled_close_goes_on(start, ours):
    channel = await start("sleep", "1000")
    closing = asyncio.create_task(channel.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    await channel.close()
    assert ours() == {}


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 7", "the box's first process ended with code 7"),
        ("echo last words >&2; exit 1", "the box's first process ended with code 1\nlast words"),
        (
            "exec python3 -c 'kept = [bytes(1 << 20) * n for n in range(1, 99)]'",
            "the box ran out of memory and its first process was killed",
        ),
    ],
)
async def test_the_reason_of_an_unexpected_end_is_known(script, reason, start, ours):
    channel = await start("bash", "-c", script)
    assert await channel.read(100) == b""
    assert channel.diagnosis() == reason
    await channel.close()


async def test_a_box_that_somebody_killed_is_told_from_one_that_ran_out_of_memory(start, ours, api):
    channel = await start("cat")
    api.kill(channel.container)
    assert await channel.read(100) == b""
    assert "was killed" in channel.diagnosis()
    assert "memory" not in channel.diagnosis()
    await channel.close()
