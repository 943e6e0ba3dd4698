"""Promises 5 and 8: output is kept up to its limit and counted beyond, whatever its bytes are."""

from __future__ import annotations

import asyncio
from typing import Literal

from policies import Limits
from runners.conformance.check import Opening, Registry, expect, promised, python, run, within

__all__ = ["CHECKS"]

check = Registry()
CHECKS = check.checks

FLOOD_BYTES = 50_000_000


@check(5)
async def a_flood_is_counted_not_kept(opening: Opening) -> None:
    """First and last bytes are kept; the total is exact."""
    code = (
        "import sys\nout = sys.stdout.buffer\nout.write(b'first ')\n"
        f"for _ in range({FLOOD_BYTES} // 50000): out.write(b'x' * 50000)\nout.write(b' last')"
    )
    limits = Limits(output_kib=64)
    async with opening() as session:
        outcome = await python(session, code, limits=limits)
    kept = outcome.stdout
    expect((outcome.code, kept.total), (0, FLOOD_BYTES + 11), "code and total")
    promised(kept.head.startswith(b"first x"), "the first bytes are kept")
    promised(kept.tail.endswith(b"x last"), "the last bytes are kept")
    promised(len(kept.data) <= 64 * 1024, f"at most 64 KiB are kept, not {len(kept.data)}")
    expect(kept.missing, kept.total - len(kept.data), "missing bytes")


@check(5)
async def output_within_its_limit_is_whole(opening: Opening) -> None:
    """Every byte, in order."""
    data = bytes(range(256)) * 1000
    async with opening() as session:
        outcome = await run(session, "cat", stdin=data)
    expect(outcome.stdout.data == data, True, "output equals input")
    expect((outcome.stdout.total, outcome.stdout.missing), (len(data), 0), "total and missing")


@check(5)
async def two_streams_are_kept_apart(opening: Opening) -> None:
    """Standard output and standard error, each with its own count."""
    async with opening() as session:
        outcome = await run(session, "sh", "-c", "printf out; printf error >&2")
    expect((outcome.stdout.data, outcome.stderr.data), (b"out", b"error"), "streams")


@check(5)
async def a_flood_of_errors_does_not_stop_the_other_stream(opening: Opening) -> None:
    """Both are read while the program runs."""
    code = (
        "import sys, os\nfor _ in range(200): os.write(2, b'e' * 65536)\n"
        "os.write(1, b'done')\nfor _ in range(200): os.write(2, b'e' * 65536)"
    )
    async with opening() as session:
        with within(30, "13 MB of errors"):
            outcome = await python(session, code, limits=Limits(output_kib=16))
    expect((outcome.stdout.data, outcome.stderr.total), (b"done", 400 * 65536), "streams")


@check(8)
async def bytes_that_are_no_text_survive(opening: Opening) -> None:
    """Invalid UTF-8, NUL and terminal escapes are kept as they came."""
    data = b"\xff\xfe\x00\x1b[31m\xc3\x28\r\n\xed\xa0\x80"
    code = f"import os; os.write(1, {data!r}); os.write(2, {data!r})"
    async with opening() as session:
        outcome = await python(session, code)
    expect((outcome.stdout.data, outcome.stderr.data), (data, data), "bytes")


@check(8)
async def output_that_looks_like_our_protocol_is_output(opening: Opening) -> None:
    """Frames that a program writes are its words, nothing more."""
    code = (
        "import os, struct\n"
        "for kind in range(256):\n"
        "    for fmt in ('<IBI', '>IBI', '<BIQ', '>BIQ'):\n"
        "        size = 5 if fmt[1] == 'I' else kind\n"
        "        os.write(1, struct.pack(fmt, size, kind, 1) + b'{\"a\":1}')"
    )
    async with opening() as session:
        outcome = await python(session, code)
        after = await run(session, "echo", "fine")
    promised(outcome.ok and outcome.stdout.total > 10_000, "all of it is output")
    expect(after.stdout.data, b"fine\n", "the call after it")


@check(5)
async def output_is_told_while_the_program_runs(opening: Opening) -> None:
    """A listener hears the first line before the program ends."""
    heard = asyncio.Event()
    chunks: list[tuple[str, bytes]] = []

    async def listen(stream: Literal["stdout", "stderr"], data: bytes) -> None:
        chunks.append((stream, data))
        heard.set()

    code = "import time; print('early', flush=True); time.sleep(1); print('late')"
    async with opening() as session:
        call = asyncio.create_task(python(session, code, on_output=listen))
        await asyncio.wait_for(heard.wait(), 20)
        promised(not call.done(), "the first line is heard before the end")
        await call
    told = b"".join(data for stream, data in chunks if stream == "stdout")
    expect(told, b"early\nlate\n", "what the listener heard")


@check(5)
async def a_slow_listener_slows_the_program(opening: Opening) -> None:
    """It loses nothing, and the call still ends."""
    heard = 0

    async def listen(_: Literal["stdout", "stderr"], data: bytes) -> None:
        nonlocal heard
        heard += len(data)
        await asyncio.sleep(0.002)

    code = "import os\nfor _ in range(64): os.write(1, b'y' * 65536)"
    async with opening() as session:
        outcome = await python(session, code, on_output=listen, limits=Limits(output_kib=16))
    expect((outcome.code, outcome.stdout.total), (0, 64 * 65536), "code and total")
    promised(heard > 0, "the listener heard something")


@check(3)
async def a_program_that_closes_its_output_lives_on(opening: Opening) -> None:
    """The end of the output is not the end of the call."""
    code = "import os, time; os.close(1); os.close(2); time.sleep(0.5); open('after', 'w').close()"
    async with opening() as session:
        await python(session, code)
        listing = await run(session, "ls")
    expect(listing.stdout.data, b"after\n", "what it did after closing its output")
