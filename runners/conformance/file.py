"""Promise 4 for files: an operation that cannot be done is a Fault, one that can is exact."""

from __future__ import annotations

import hashlib

from runners.conformance.check import Opening, Registry, expect, expect_fault, run
from runners.outcome import Fault, FileData, Found, Listing, Written

__all__ = ["CHECKS"]

check = Registry()
CHECKS = check.checks


@check(4)
async def a_file_comes_back_as_written(opening: Opening) -> None:
    """Any bytes; new folders are made."""
    data = bytes(range(256)) * 4000
    async with opening() as session:
        written = await session.write_file("new/folder/file.bin", data)
        read = await session.read_file("new/folder/file.bin", limit=len(data))
    expect(written, Written("new/folder/file.bin", len(data), created=True), "writing")
    expect(isinstance(read, FileData) and read.data == data, True, "same bytes")


@check(4)
async def programs_and_the_session_see_the_same_files(opening: Opening) -> None:
    """Both ways."""
    async with opening() as session:
        await session.write_file("a.txt", b"from outside")
        seen = await run(session, "cat", "a.txt")
        await run(session, "cp", "a.txt", "b.txt")
        back = await session.read_file("b.txt")
    expect(seen.stdout.data, b"from outside", "what a program sees")
    expect(back.data if isinstance(back, FileData) else back, b"from outside", "what it wrote")


@check(4)
async def ranges_are_read_exactly(opening: Opening) -> None:
    """Also at and behind the end."""
    async with opening() as session:
        await session.write_file("digits", b"0123456789")
        parts = [await session.read_file("digits", offset=o, limit=3) for o in (0, 4, 8, 10, 99)]
    seen = [(p.data, p.size) if isinstance(p, FileData) else p for p in parts]
    expected = [(b"012", 10), (b"456", 10), (b"89", 10), (b"", 10), (b"", 10)]
    expect(seen, expected, "ranges")


@check(4)
async def replacing_keeps_the_mode(opening: Opening) -> None:
    """An executable stays one."""
    async with opening() as session:
        await session.write_file("tool", b"#!/bin/sh\n", mode=0o755)
        await session.write_file("tool", b"#!/bin/sh\necho new\n")
        outcome = await run(session, "./tool")
    expect((outcome.code, outcome.stdout.data), (0, b"new\n"), "the replaced tool")


@check(4)
async def a_changed_file_is_not_overwritten_blindly(opening: Opening) -> None:
    """`expect` names the content that is to be replaced."""
    right, wrong = hashlib.sha256(b"one").digest(), hashlib.sha256(b"other").digest()
    async with opening() as session:
        await session.write_file("file", b"one")
        refused = await session.write_file("file", b"two", expect=wrong)
        done = await session.write_file("file", b"two", expect=right)
    expect_fault(refused, "changed", "writing over another content")
    expect(isinstance(done, Written), True, "writing over the expected content")


@check(4)
async def what_cannot_be_read_is_a_fault(opening: Opening) -> None:
    """With a code for each reason."""
    async with opening() as session:
        await session.write_file("file", b"")
        missing = await session.read_file("none")
        through = await session.read_file("file/below")
        listed = await session.list_dir("file")
        named = await session.write_file("x" * 300, b"")
    expect_fault(missing, "not-found", "a missing file")
    expect_fault(through, "not-a-folder not-found", "a path through a file")
    expect_fault(listed, "not-a-folder", "listing a file")
    expect_fault(named, "name", "a name that is too long")


@check(4)
async def a_listing_is_sorted_and_counts_all(opening: Opening) -> None:
    """Names in byte order, kinds, and how many there are."""
    async with opening() as session:
        for name in ("b", "a", "C", "é"):
            await session.write_file(name, b"12")
        await run(session, "mkdir", "folder")
        await run(session, "ln", "-s", "a", "link")
        whole = await session.list_dir()
        part = await session.list_dir(limit=2)
    names = [(e.name, e.kind) for e in whole.entries] if isinstance(whole, Listing) else whole
    expected = [("C", "file"), ("a", "file"), ("b", "file"), ("folder", "dir"), ("link", "link")]
    expect(names, [*expected, ("é", "file")], "listing")
    cut = (len(part.entries), part.total) if isinstance(part, Listing) else part
    expect(cut, (2, 6), "a listing with a limit")


@check(4)
async def files_are_found_by_pattern(opening: Opening) -> None:
    """`**` crosses folders, `*` does not."""
    async with opening() as session:
        for name in ("a.py", "src/b.py", "src/deep/c.py", "src/d.txt"):
            await session.write_file(name, b"")
        everywhere = await session.find_files("**/*.py")
        here = await session.find_files("src/*.py")
    expect(everywhere, Found(("a.py", "src/b.py", "src/deep/c.py"), complete=True), "**/*.py")
    expect(here, Found(("src/b.py",), complete=True), "src/*.py")


@check(4)
async def lines_are_found_by_text(opening: Opening) -> None:
    """Literally unless a regular expression is asked for."""
    async with opening() as session:
        await session.write_file("one.txt", b"alpha\na.c\nabc\n")
        literal = await session.search_text("a.c")
        pattern = await session.search_text("a.c", regex=True)
    found = [
        item if isinstance(item, Fault) else [(m.path, m.line, m.text) for m in item]
        for item in (literal, pattern)
    ]
    expect(
        found, [[("one.txt", 2, "a.c")], [("one.txt", 2, "a.c"), ("one.txt", 3, "abc")]], "lines"
    )
