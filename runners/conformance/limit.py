"""Promise 12: a program gets at most its limits, and which one was reached is told on evidence."""

from __future__ import annotations

from policies import Limits
from runners.conformance.check import (
    Opening,
    Registry,
    expect,
    printed,
    promised,
    python,
    run,
    within,
)
from runners.outcome import Ending

__all__ = ["CHECKS"]

check = Registry()
CHECKS = check.checks


@check(12)
async def memory_is_limited(opening: Opening) -> None:
    """A program that takes far more than its limit does not get it."""
    code = "data = []\nfor _ in range(64): data.append(b'x' * (16 << 20))\nprint('got it all')"
    async with opening(limits=Limits(memory_mib=128, disk_mib=64)) as session:
        outcome = await python(session, code)
    promised(not outcome.ok, "a program got 1 GiB under a limit of 128 MiB")
    expect(outcome.stdout.data, b"", "output")


@check(12)
async def shared_memory_is_limited_too(opening: Opening) -> None:
    """What no limit of a single process counts ends the program, and the outcome says why."""
    code = (
        "import mmap\nsize = 1 << 30\ndata = mmap.mmap(-1, size)\n"
        "for place in range(0, size, 4096): data[place] = 1\nprint('got it all')"
    )
    async with opening(limits=Limits(memory_mib=128, disk_mib=64)) as session:
        outcome = await python(session, code)
        after = await run(session, "echo", "on")
    expect((outcome.ending, outcome.limit), (Ending.KILLED_BY_LIMIT, "memory_mib"), "ending")
    promised(outcome.limits_hit, "the outcome tells its evidence")
    expect(after.stdout.data, b"on\n", "the call after it")


@check(12)
async def memory_below_the_limit_is_there(opening: Opening) -> None:
    """The limit is not smaller than it says."""
    code = "data = [b'x' * (8 << 20) for _ in range(12)]; print(len(data))"
    async with opening(limits=Limits(memory_mib=256)) as session:
        text = await printed(session, code)
    expect(text, "12", "eight MiB twelve times")


@check(12)
async def processes_are_limited(opening: Opening) -> None:
    """A fork bomb stays small, and the session goes on."""
    code = (
        "import os, time\nstarted = 0\n"
        "for _ in range(200):\n"
        "    try: child = os.fork()\n"
        "    except OSError: break\n"
        "    if child == 0: time.sleep(30); os._exit(0)\n"
        "    started += 1\n"
        "print(started)\n"
    )
    async with opening(limits=Limits(processes=32)) as session:
        outcome = await python(session, code)
        after = await run(session, "echo", "on")
    if outcome.ok:
        started = int(outcome.stdout.text())
        promised(started <= 48, f"{started} processes were started under a limit of 32")
        promised(started >= 8, f"only {started} processes could be started under a limit of 32")
    else:
        expect((outcome.ending, outcome.limit), (Ending.KILLED_BY_LIMIT, "processes"), "ending")
    expect(after.stdout.data, b"on\n", "the call after a fork bomb")


@check(12)
async def open_files_are_limited(opening: Opening) -> None:
    """The limit is the program's own, exactly."""
    code = (
        "import os\nfiles = []\n"
        "try:\n    while len(files) < 5000: files.append(os.open('/dev/null', os.O_RDONLY))\n"
        "except OSError: pass\nprint(len(files) + 3)\n"
    )
    async with opening(limits=Limits(open_files=64)) as session:
        text = await printed(session, code)
    expect(text, "64", "descriptors")


@check(12)
async def the_size_of_a_file_is_limited(opening: Opening) -> None:
    """A larger one cannot be written, nor made by truncating."""
    write = "head -c 8000000 /dev/zero > big"
    async with opening(limits=Limits(file_mib=4)) as session:
        await run(session, "sh", "-c", write)
        await run(session, "truncate", "-s", "1G", "hole")
        sizes = await run(session, "sh", "-c", "cat big hole 2>/dev/null | wc -c")
    promised(int(sizes.stdout.text()) <= 8 << 20, "files of at most 4 MiB each")


@check(12)
async def processor_time_is_limited(opening: Opening) -> None:
    """And the outcome says so."""
    async with opening() as session:
        with within(20, "a busy loop with one second of processor time"):
            limits = Limits(cpu_seconds=1, wall_seconds=60)
            outcome = await python(session, "while True: pass", limits=limits)
    expect((outcome.ending, outcome.limit), (Ending.KILLED_BY_LIMIT, "cpu_seconds"), "ending")


@check(12)
async def space_is_limited(opening: Opening) -> None:
    """The workspace cannot fill the machine's disk or memory."""
    code = (
        "import os\nwritten = 0\n"
        "try:\n"
        "    for n in range(100):\n"
        "        with open(f'file{n}', 'wb') as file: written += file.write(b'x' * (2 << 20))\n"
        "except OSError: pass\nprint(written >> 20)\n"
    )
    async with opening(limits=Limits(disk_mib=32)) as session:
        text = await printed(session, code)
    promised(int(text) <= 32, f"{text} MiB were written under a limit of 32")


@check(12)
async def figures_are_told(opening: Opening) -> None:
    """Wall time, processor time and peak memory are measured."""
    code = (
        "import time\ndata = b'x' * (32 << 20)\nend = time.process_time() + 0.3\n"
        "while time.process_time() < end: pass\n"
    )
    async with opening() as session:
        outcome = await python(session, code)
    promised(outcome.wall_seconds >= 0.3, f"wall time {outcome.wall_seconds}")
    promised(0.25 <= outcome.cpu_seconds < 20, f"processor time {outcome.cpu_seconds}")
    peak = outcome.peak_memory_bytes
    promised(peak is None or peak >= 32 << 20, f"peak memory {peak}")
