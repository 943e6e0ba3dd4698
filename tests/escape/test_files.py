"""File operations on what a hostile program prepared: nothing outside is touched, nothing hangs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runners.outcome import Fault, FileData
from runners.workspace import copy_in, copy_out

from .conftest import Box, Clock, Opening

pytestmark = pytest.mark.asyncio(loop_scope="module")

OUTSIDE = "/etc/passwd"


@pytest.fixture
def result(tmp_path: Path) -> Path:
    return tmp_path / "result"


async def test_links_swapped_under_an_operation_lead_nowhere(open_box: Opening) -> None:
    prepare = """
import os
os.mkdir('a'); os.symlink('/etc', 'b'); open('a/passwd', 'w').write('inside')
open('f', 'w').write('inside'); os.symlink('/etc/passwd', 'g')
"""
    async with open_box(wall_seconds=30) as box:
        await box.python(prepare)
        swapping = asyncio.create_task(box.attack("swap", "a", "b", "f", "g"))
        read, listed, found = set(), set(), set()
        session = box.session
        for _ in range(30):
            for path in ("a/passwd", "b/passwd", "f", "g"):
                data = await session.read_file(path)
                if isinstance(data, FileData):
                    read.add(data.data)
            listing = await session.list_dir("a")
            if not isinstance(listing, Fault):
                listed |= {entry.name for entry in listing.entries}
            matches = await session.search_text("root", ".")
            if not isinstance(matches, Fault):
                found |= {match.path for match in matches}
            await session.write_file("a/new", b"mine")
        swapping.cancel()
        await asyncio.gather(swapping, return_exceptions=True)
        assert read <= {b"inside"}
        assert listed <= {"passwd", "new"}
        assert found == set()
        outside = await box.python("import os; print(os.path.exists('/etc/new'))")
        assert outside.stdout.text() == "False\n"


async def test_pipes_leases_and_devices_hold_no_operation_up(open_box: Opening) -> None:
    code = """
import fcntl, os, signal, socket, time
os.mkfifo('fifo'); os.symlink('/dev/zero', 'zero'); os.symlink('/proc/self/fd/0', 'stdin')
open('leased', 'w').write('x')
signal.signal(signal.SIGIO, signal.SIG_IGN)
held = os.open('leased', os.O_RDONLY)
try: fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_RDLCK)
except OSError: pass
try: socket.socket(socket.AF_UNIX).bind('sock')
except OSError: open('sock', 'w')
print('ready', flush=True)
time.sleep(30)
"""
    async with open_box(wall_seconds=40) as box:
        ready = asyncio.Event()

        async def hear(_stream: str, _data: bytes) -> None:
            ready.set()

        holder = asyncio.create_task(box.python(code, on_output=hear))
        await asyncio.wait_for(ready.wait(), 20)
        with Clock() as clock:
            for name in ("fifo", "zero", "stdin", "leased", "sock"):
                await box.session.read_file(name)
                await box.session.write_file(name, b"new")
                await box.session.search_text("x", name)
        assert clock.seconds < 5
        holder.cancel()
        await asyncio.gather(holder, return_exceptions=True)
        assert await box.is_well()


async def test_odd_names_come_back_as_they_are(open_box: Opening) -> None:
    code = """
import os
for name in (b'new\\nline', b'\\x1b[31mred', b'\\xff\\xfe', b'-rf', b'a' * 255, b'Case', b'case',
             'n\\u0303'.encode(), '\\u00f1'.encode(), b'"quote\\\\', b' ', b'...', b'x\\r'):
    open(name, 'wb').write(b'x')
"""
    async with open_box() as box:
        assert (await box.python(code)).ok
        listing = await box.session.list_dir()
        assert not isinstance(listing, Fault)
        names = [entry.name for entry in listing.entries]
        assert (len(names), listing.total) == (13, 13)
        for name in names:
            data = await box.session.read_file(name)
            assert isinstance(data, FileData), data
            assert data.data == b"x"


async def test_a_tree_too_deep_is_told_and_hides_nothing_else(
    open_box: Opening, result: Path
) -> None:
    code = """
import os
open('kept', 'w').write('x')
for _ in range(1500):
    os.mkdir('d' * 200); os.chdir('d' * 200)
open('deep', 'w').write('needle')
"""
    async with open_box(wall_seconds=20) as box:
        copied = await copy_in(box.session, None)
        assert (await box.python(code)).ok
        with Clock() as clock:
            await box.session.search_text("needle")
            await box.session.find_files("**/deep")
            out = await copy_out(box.session, copied, result)
        assert clock.seconds < 20
        assert (result / "kept").read_text() == "x"
        assert not out.complete or out.refused


async def test_a_workspace_that_changes_while_it_is_packed_gives_a_sound_result(
    open_box: Opening, result: Path, tmp_path: Path
) -> None:
    prepare = """
import os
for n in range(100):
    os.mkdir(f'd{n}')
    open(f'd{n}/f', 'wb').write(os.urandom(4096))
os.mkdir('a'); os.symlink('/etc', 'b'); open('a/passwd', 'w').write('inside')
"""
    grow = """
import os, itertools
for n in itertools.count():
    for k in range(100):
        try:
            with open(f'd{k}/f', 'r+b') as f: f.truncate((n * 977) % 9000)
            os.rename(f'd{k}', f'e{k}'); os.rename(f'e{k}', f'd{k}')
            if os.path.islink(f'd{k}/g'): os.unlink(f'd{k}/g')
            else: os.symlink('/etc/shadow', f'd{k}/g')
        except OSError: pass
"""
    async with open_box(wall_seconds=60) as box:
        copied = await copy_in(box.session, None)
        await box.python(prepare)
        busy = [
            asyncio.create_task(box.python(grow)),
            asyncio.create_task(box.attack("swap", "a", "b")),
        ]
        for turn in range(2):
            out = await copy_out(box.session, copied, tmp_path / f"result{turn}")
            inside = [p for p in (tmp_path / f"result{turn}").rglob("*") if p.is_symlink()]
            assert inside == []
            assert all(not change.path.startswith("/") for change in out.changes)
        for task in busy:
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)


async def test_an_archive_cannot_leave_its_folder(
    open_box: Opening, result: Path, tmp_path: Path
) -> None:
    code = f"""
import os
os.symlink({str(tmp_path)!r}, 'out'); os.symlink('../../../../tmp', 'up')
os.mkdir('a'); os.symlink('..', 'a/parent'); os.symlink('a/parent/../..', 'climb')
os.link('/etc/passwd', 'hard') if os.access('/etc', os.W_OK) else None
os.mkdir('.git'); os.mkdir('.git/hooks'); open('.git/hooks/pre-commit', 'w').write('#!/bin/sh')
open('.git/config', 'w').write('[core]\\n\\tfsmonitor = evil')
open('good', 'w').write('good')
os.chmod('good', 0o6777)
"""
    async with open_box() as box:
        copied = await copy_in(box.session, None)
        assert (await box.python(code)).ok
        out = await copy_out(box.session, copied, result)
    here = result.resolve()
    for path in result.rglob("*"):
        assert path.resolve().is_relative_to(here)
        assert not path.lstat().st_mode & 0o7000
    assert (result / "good").read_text() == "good"
    assert not (result / ".git" / "hooks" / "pre-commit").exists()
    assert {change.path for change in out.changes} >= {"good"}
    assert "fsmonitor" not in out.patch.text.decode("utf-8", "replace")


async def test_a_regular_expression_that_runs_away_ends_at_the_sessions_limit(
    open_box: Opening,
) -> None:
    async with open_box(wall_seconds=2) as box:
        await box.session.write_file("text", b"a" * 40 + b"!\n")
        with Clock() as clock:
            found = await box.session.search_text("(a+)+$", regex=True)
        assert (isinstance(found, Fault), clock.seconds < 5) == (True, True)
        assert await box.is_well()


async def test_a_writer_ended_in_the_middle_leaves_no_file_behind(open_box: Opening) -> None:
    async with open_box(wall_seconds=20) as box:
        await box.session.write_file("big", b"whole")
        for turn in range(12):
            writing = asyncio.create_task(box.session.write_file("big", bytes(16 << 20)))
            await asyncio.sleep(turn * 0.01)
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
        listing = await box.session.list_dir()
        assert not isinstance(listing, Fault)
        assert [entry.name for entry in listing.entries] == ["big"]
        assert listing.entries[0].size in (5, 16 << 20)


async def test_a_redirection_follows_no_swapped_link(open_box: Opening) -> None:
    from policies import Pipeline, Stage, ToFile

    async with open_box(wall_seconds=30) as box:
        await box.python("import os; os.mkdir('a'); os.symlink('/tmp', 'b')")
        swapping = asyncio.create_task(box.attack("swap", "a", "b"))
        for _ in range(30):
            await box.session.run(Pipeline((Stage(("echo", "x"), stdout=ToFile("a/out")),)))
        swapping.cancel()
        await asyncio.gather(swapping, return_exceptions=True)
        assert await box.said("import os; print(os.path.exists('/tmp/out'))") == "False"


async def test_hard_links_of_one_file_are_broken_by_a_write(box: Box) -> None:
    await box.python("import os; open('one', 'w').write('old'); os.link('one', 'two')")
    await box.session.write_file("one", b"new")
    two = await box.session.read_file("two")
    assert isinstance(two, FileData)
    assert two.data == b"old"
