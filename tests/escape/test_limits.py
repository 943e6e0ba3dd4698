"""Memory that belongs to no process, files that have no bytes, descriptors, floods."""

from __future__ import annotations

import resource

import pytest

from runners.outcome import Ending, Fault

from .conftest import Box, Clock, Opening

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALLOCATE = "b = bytearray(60 << 20); print('got it')"


@pytest.mark.parametrize("kind", ["memfd", "shared", "sysv", "semaphores", "sockets"])
async def test_memory_of_no_process_is_bounded_and_comes_back(open_box: Opening, kind: str) -> None:
    async with open_box(memory_mib=128, disk_mib=64, wall_seconds=20) as box:
        for _ in range(2):
            outcome = await box.attack("memory", kind, "1024")
            got = int(outcome.stdout.text() or 0)
            assert got < 512, "it got more than twice its limits"
        assert await box.said(ALLOCATE) == "got it"


async def test_memory_below_the_limit_is_had_in_every_way(open_box: Opening) -> None:
    async with open_box(memory_mib=128, disk_mib=64, wall_seconds=20) as box:
        for kind in ("memfd", "shared"):
            outcome = await box.attack("memory", kind, "64")
            assert (outcome.ending, outcome.stdout.text()) == (Ending.EXITED, "64\n")


async def test_full_folders_leave_memory_for_programs(open_box: Opening) -> None:
    code = """
import os
for folder in ('/dev/shm', '/tmp', '.', os.environ['HOME'], '/tests', '/logs', '/solution'):
    try:
        for n in range(4096):
            with open(f'{folder}/fill{n}', 'wb') as f: f.write(bytes(1 << 20))
    except OSError: pass
"""
    async with open_box(memory_mib=64, disk_mib=64, wall_seconds=20) as box:
        if "space-is-limited" in await gaps(box):
            pytest.skip("the disk is the host's, and the box says so")
        await box.python(code)
        assert await box.said("b = bytearray(20 << 20); print('got it')") == "got it"
        assert isinstance(await box.session.write_file("more", bytes(2 << 20)), Fault)
        await box.run("sh", "-c", "rm -f fill* /tmp/fill*")
        assert await box.is_well()


async def test_files_without_bytes_are_bounded_and_leave_memory_for_programs(
    open_box: Opening,
) -> None:
    code = """
import os, sys
n = 0
try:
    while True: os.close(os.open(f'{sys.argv[1]}/i{n}', os.O_CREAT)); n += 1
except OSError: pass
"""
    async with open_box(memory_mib=64, disk_mib=64, wall_seconds=20) as box:
        if "space-is-limited" in await gaps(box):
            pytest.skip("the disk is the host's, and the box says so")
        home = await box.said("import os; print(os.environ['HOME'])")
        for folder in ("/dev/shm", "/tmp", ".", home, "/tests", "/logs", "/solution"):
            outcome = await box.python(code, folder)
            assert outcome.ok or outcome.limit == "disk_mib"
        assert await box.said("b = bytearray(20 << 20); print('got it')") == "got it"


async def test_files_that_an_earlier_call_left_do_not_end_the_next(open_box: Opening) -> None:
    fill = """
import os, sys
try:
    for n in range(700):
        os.close(os.open(f"/dev/shm/{sys.argv[1]}-{n}", os.O_CREAT))
except OSError: pass
"""
    async with open_box(memory_mib=64, disk_mib=64, wall_seconds=20) as box:
        for name in "abc":
            await box.python(fill, name)  # mostly over before anybody looks
        assert await box.said("import time; time.sleep(0.2); print('well')") == "well"


async def gaps(box: Box) -> str:
    """The process box without namespaces has no file system of its own."""
    plain = box.session.isolation.label == "process"
    return "space-is-limited" if plain else ""


async def test_all_descriptors_of_all_processes_taken_leave_the_box_well(
    open_box: Opening,
) -> None:
    code = """
import os, time
for _ in range(15):
    if os.fork() == 0: break
held = []
try:
    while True: held.append(os.pipe())
except OSError: pass
time.sleep(0.3)
"""
    async with open_box(open_files=512, processes=32) as box:
        await box.python(code, wall=10)
        assert await box.is_well()


async def test_a_flood_neither_grows_the_host_nor_ends_the_box(open_box: Opening) -> None:
    async with open_box(output_kib=64, wall_seconds=60) as box:
        await box.run("true")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        outcome = await box.run("sh", "-c", "head -c 200000000 /dev/zero; echo end")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert (outcome.stdout.total, outcome.stdout.text()[-4:]) == (200_000_004, "end\n")
        assert grown < 8 * 1024


async def test_a_flood_on_both_streams_until_the_limit_is_counted(open_box: Opening) -> None:
    async with open_box(output_kib=8) as box:
        with Clock() as clock:
            outcome = await box.run("sh", "-c", "yes & yes >&2 & wait", wall=1)
        assert (outcome.ending, clock.seconds < 3) == (Ending.TIMED_OUT, True)
        assert min(outcome.stdout.total, outcome.stderr.total) > 1 << 20
        assert await box.is_well()


async def test_words_beyond_what_the_kernel_takes_are_an_outcome(box: Box) -> None:
    for argv in (["true", "x" * 200_000], ["true", *["x" * 1000] * 5000]):
        outcome = await box.run(*argv)
        assert (outcome.ending, outcome.code) == (Ending.EXITED, 126)
    assert await box.is_well()


async def test_a_large_environment_that_is_allowed_arrives(box: Box) -> None:
    outcome = await box.run("sh", "-c", "echo ${#BIG}", env={"BIG": "x" * 100_000})
    assert outcome.stdout.text() == "100000\n"


async def test_a_sum_of_processor_time_is_bounded_too(open_box: Opening) -> None:
    code = """
import os
for _ in range(3): os.fork()
while True: pass
"""
    async with open_box(cpu_seconds=1, wall_seconds=20) as box:
        with Clock() as clock:
            outcome = await box.python(code)
        assert (outcome.limit, clock.seconds < 6) == ("cpu_seconds", True)
