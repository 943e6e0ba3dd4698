"""Output is told truthfully, kept within its limit, and never grows the harness."""

from __future__ import annotations

import asyncio
import resource
import time

import pytest

from policies import FromText, Limits
from runners import Capture

from .conftest import one, python, shell, text

MIB = 1 << 20


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


async def test_bytes_arrive_as_they_are(session):
    data = bytes(range(256)) * 10
    outcome = await session.run(one("cat", stdin=FromText(data)))
    assert outcome.stdout == Capture(data, b"", len(data))


async def test_invalid_utf8_and_escapes_are_output_like_any_other(session):
    outcome = await session.run(one("printf", r"\377\000\033[31m\n"))
    assert outcome.stdout.data == b"\xff\0\x1b[31m\n"
    assert text(outcome) == "\ufffd\0\x1b[31m\n"


async def test_head_and_tail_are_kept_and_the_middle_is_counted(session):
    code = "import sys\nfor i in range(100000): sys.stdout.write('%09d\\n' % i)"
    outcome = await session.run(python(code), limits=Limits(output_kib=4))
    every = "".join(f"{number:09}\n" for number in range(100_000)).encode()
    assert outcome.stdout == Capture(every[:2048], every[-2048:], 1_000_000)
    assert outcome.stdout.missing == 1_000_000 - 4096


async def test_output_that_just_fits_is_whole(session):
    limits = Limits(output_kib=4)
    for size in (2047, 2048, 2049, 4095, 4096):
        outcome = await session.run(shell(f"head -c {size} /dev/urandom"), limits=limits)
        assert (outcome.stdout.total, outcome.stdout.missing) == (size, 0)
    outcome = await session.run(shell("head -c 4097 /dev/urandom"), limits=limits)
    assert (outcome.stdout.total, outcome.stdout.missing) == (4097, 1)


async def test_one_byte_at_a_time_is_kept_like_the_rest(session):
    code = "import os\nfor i in range(9000): os.write(1, b'%d' % (i % 10))"
    outcome = await session.run(python(code), limits=Limits(output_kib=4))
    every = b"".join(b"%d" % (number % 10) for number in range(9000))
    assert outcome.stdout == Capture(every[:2048], every[-2048:], 9000)


async def test_both_streams_have_their_own_limit(session):
    code = "head -c 9000 /dev/zero >&2; head -c 10 /dev/zero"
    outcome = await session.run(shell(code), limits=Limits(output_kib=4))
    assert (outcome.stdout.total, outcome.stdout.missing) == (10, 0)
    assert (outcome.stderr.total, outcome.stderr.missing) == (9000, 9000 - 4096)


async def test_a_flood_does_not_grow_the_harness(session):
    await session.run(shell("head -c 4000000 /dev/zero"))
    before = resident()
    outcome = await session.run(shell("head -c 200000000 /dev/zero"))
    assert outcome.stdout.total == 200_000_000
    assert resident() - before < 8 * MIB


async def test_a_flood_that_is_listened_to_does_not_grow_the_harness(session):
    seen = 0

    async def listen(stream, data):
        nonlocal seen
        seen += len(data)

    before = resident()
    outcome = await session.run(shell("head -c 100000000 /dev/zero"), on_output=listen)
    assert seen == outcome.stdout.total == 100_000_000
    assert resident() - before < 12 * MIB


async def test_output_is_heard_as_it_comes(session):
    heard: list[tuple[str, bytes]] = []
    first = asyncio.Event()

    async def listen(stream, data):
        heard.append((stream, data))
        first.set()

    code = "echo one; head -n 1 >/dev/null; echo two >&2"
    feed = asyncio.Queue()
    task = asyncio.create_task(
        session._link.call(
            "run",
            _request(code),
            seconds=20,
            judge=lambda done: done,
            source=_queue(feed),
            sink=lambda piece: listen(piece.stream, bytes(piece.data)),
        )
    )
    await asyncio.wait_for(first.wait(), 5)
    assert heard == [(1, b"one\n")]
    await feed.put(b"go\n")
    await feed.put(None)
    await task
    assert heard == [(1, b"one\n"), (2, b"two\n")]


async def test_a_slow_listener_slows_the_program(session):
    release = asyncio.Event()
    seen = 0

    async def listen(stream, data):
        nonlocal seen
        await release.wait()
        seen += len(data)

    task = asyncio.create_task(
        session.run(shell("head -c 8000000 /dev/zero; echo end >&2"), on_output=listen)
    )
    other = await session.run(shell("sleep 0.5; echo other"))  # meanwhile nothing else is slowed
    assert text(other) == "other\n"
    assert not task.done()
    before = resident()
    release.set()
    outcome = await task
    assert seen == 8_000_004
    assert outcome.stdout.total == 8_000_000
    assert resident() - before < 12 * MIB


async def test_a_listener_that_fails_ends_the_call(session, place):
    async def listen(stream, data):
        raise ValueError("no more")

    began = time.monotonic()
    with pytest.raises(ValueError, match="no more"):
        await session.run(shell("yes"), on_output=listen)
    assert time.monotonic() - began < 5
    assert place.alive() == []
    assert (await session.run(one("true"))).ok


async def test_floods_of_several_calls_do_not_mix(session):
    def flood(letter):
        return session.run(shell(f"yes {letter} | head -c 3000000"), limits=Limits(output_kib=64))

    outcomes = await asyncio.gather(*[flood(letter) for letter in "abcd"])
    for letter, outcome in zip("abcd", outcomes, strict=True):
        assert outcome.stdout.total == 3_000_000
        assert set(outcome.stdout.data) == set(f"{letter}\n".encode())


def _request(code):
    limits = {
        "wall_seconds": 20,
        "cpu_seconds": 20,
        "memory_mib": 512,
        "processes": 64,
        "open_files": 100,
        "file_mib": 10,
        "disk_mib": 10,
        "output_kib": 64,
    }
    stage = {
        "argv": [b"sh", b"-c", code.encode()],
        "path": None,
        "env": [],
        "stdin": ("feed",),
        "stdout": None,
        "stderr": None,
    }
    return {"stages": [stage], "cwd": b".", "env": [], "limits": limits, "keep": None}


async def _queue(queue):
    while (data := await queue.get()) is not None:
        yield data
