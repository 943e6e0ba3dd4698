"""Promise 6: paths are resolved inside the box, below their root, whatever a program plants."""

from __future__ import annotations

import asyncio

from policies import Limits
from runners.conformance.check import (
    Opening,
    Registry,
    expect,
    expect_fault,
    promised,
    python,
    run,
    within,
)
from runners.outcome import FileData

__all__ = ["CHECKS"]

check = Registry()
CHECKS = check.checks

OUTSIDE = "path-escape denied loop not-found name"
NOT_REGULAR = "not-a-file denied busy path-escape"


@check(6)
async def paths_cannot_climb_out(opening: Opening) -> None:
    """Neither by dots nor by a slash at the front."""
    async with opening() as session:
        for path in ("../../../../etc/passwd", "/etc/passwd", "a/../../etc/passwd", ".."):
            expect_fault(await session.read_file(path), OUTSIDE + " not-a-file", f"reading {path}")
            expect_fault(
                await session.write_file(path, b"x"), OUTSIDE + " not-a-file", f"writing {path}"
            )
        expect_fault(await session.list_dir("../.."), OUTSIDE, "listing ../..")


@check(6)
async def links_to_the_outside_are_not_followed(opening: Opening) -> None:
    """Files, folders and /proc's magic links."""
    code = (
        "import os\nos.symlink('/etc/passwd', 'file')\nos.symlink('/etc', 'folder')\n"
        "os.symlink('/proc/self/root/etc/passwd', 'magic')\nos.symlink('../../etc/passwd', 'up')\n"
        "os.symlink('chain2', 'chain1'); os.symlink('/etc/passwd', 'chain2')"
    )
    async with opening() as session:
        promised((await python(session, code)).ok, "planting links works")
        for path in ("file", "folder/passwd", "magic", "up", "chain1"):
            expect_fault(await session.read_file(path), OUTSIDE, f"reading {path}")
        expect_fault(await session.list_dir("folder"), OUTSIDE, "listing a link to /etc")
        expect_fault(await session.write_file("folder/new", b"x"), OUTSIDE + " link", "writing")


@check(6)
async def links_that_stay_inside_are_followed(opening: Opening) -> None:
    """The same in every box."""
    async with opening() as session:
        await session.write_file("real/file.txt", b"inside")
        await run(session, "ln", "-s", "real", "folder")
        await run(session, "ln", "-s", "../real/file.txt", "real/link.txt")
        read = [await session.read_file(p) for p in ("folder/file.txt", "real/link.txt")]
    data = [item.data if isinstance(item, FileData) else item for item in read]
    expect(data, [b"inside", b"inside"], "through links that stay inside")


@check(6)
async def a_link_that_loops_is_a_fault(opening: Opening) -> None:
    """Not a hang."""
    async with opening() as session:
        await run(session, "ln", "-s", "b", "a")
        await run(session, "ln", "-s", "a", "b")
        expect_fault(await session.read_file("a"), "loop", "reading a loop")


@check(6)
async def a_folder_swapped_for_a_link_shows_nothing(opening: Opening) -> None:
    """A program that swaps them all the time wins no race."""
    code = (
        "import os, ctypes, time\n"
        "os.symlink('/etc', 'link')\n"
        "libc = ctypes.CDLL(None)\n"
        "end = time.monotonic() + 2\n"
        "while time.monotonic() < end:\n"
        "    for _ in range(100): libc.renameat2(-100, b'real', -100, b'link', 2)\n"
    )
    seen: set[object] = set()
    async with opening() as session:
        await session.write_file("real/passwd", b"inside")
        swapping = asyncio.create_task(python(session, code))
        while not swapping.done():
            got = await session.read_file("real/passwd")
            seen.add(got.data if isinstance(got, FileData) else got.code)
        await swapping
    promised(b"inside" in seen, "the race was run at all")
    leaked = [item for item in seen if isinstance(item, bytes) and item != b"inside"]
    expect(leaked, [], "contents from outside")


@check(6)
async def special_files_are_refused_at_once(opening: Opening) -> None:
    """FIFOs and sockets neither hang a reader nor feed it."""
    async with opening() as session:
        await run(session, "mkfifo", "fifo")
        with within(5, "reading a FIFO"):
            expect_fault(await session.read_file("fifo"), NOT_REGULAR, "reading a FIFO")
        expect_fault(await session.read_file("."), "not-a-file", "reading a folder")


@check(6)
async def writing_replaces_one_name_only(opening: Opening) -> None:
    """A hard link keeps the old content."""
    async with opening() as session:
        await session.write_file("one", b"old")
        await run(session, "ln", "one", "two")
        await session.write_file("one", b"new")
        other = await session.read_file("two")
    expect(other.data if isinstance(other, FileData) else other, b"old", "the other name")


@check(6)
async def roots_are_apart(opening: Opening) -> None:
    """A path means the root that it was asked in."""
    async with opening() as session:
        await session.write_file("same", b"workspace")
        await session.write_file("same", b"tests", root="tests")
        read = [await session.read_file("same", root=root) for root in ("workspace", "tests")]
        missing = await session.read_file("same", root="logs")
    expect(
        [r.data if isinstance(r, FileData) else r for r in read], [b"workspace", b"tests"], "roots"
    )
    expect_fault(missing, "not-found", "a root that has no such file")


@check(6)
async def a_sparse_file_is_read_by_its_bytes(opening: Opening) -> None:
    """Its size is told, its holes are not sent whole."""
    async with opening(limits=Limits(file_mib=1024)) as session:
        await run(session, "truncate", "-s", "1000M", "big")
        part = await session.read_file("big", limit=100)
    seen = (len(part.data), part.size) if isinstance(part, FileData) else part
    expect(seen, (100, 1000 << 20), "bytes and size")
