"""The supervisor in poorer places: another Python, no children files, no /proc, no openat2."""

from __future__ import annotations
import __future__

import asyncio
import marshal
import shutil
import time

import pytest

from policies import Isolation, Limits
from runners.channel import PipeChannel
from runners.client import connect
from runners.supervisor import Payload, parcel, payload

from .conftest import PYTHON, UID, one, python, shell, text

HIDE = """
import os, signal, time
if os.fork(): os._exit(0)
os.setsid()
signal.signal(15, signal.SIG_IGN)
time.sleep(100)
"""

as_root = pytest.mark.skipif(UID is None, reason="only root can give programs a uid of their own")


def changed(module: str, old: str, new: str) -> Payload:
    """The supervisor with one line changed; its sources are compiled in the box."""
    _, unpack, names, codes, modules = marshal.loads(payload().data)
    name = f"runners.supervisor.{module}"
    code, source = modules[name]
    assert old.encode() in source
    modules[name] = code, source.replace(old.encode(), new.encode())
    return Payload(payload().boot, marshal.dumps((b"none", unpack, names, codes, modules), 2))


@pytest.fixture
async def started(place, monkeypatch):
    """Open a session with another payload, perhaps through a wrapper."""
    sessions = []

    async def start(parcel_: Payload, wrapper: tuple[str, ...] = (), **changes):
        monkeypatch.setattr("runners.client.link.payload", lambda: parcel_)
        channel = await PipeChannel.start([*wrapper, *parcel_.argv(PYTHON)])
        session = await connect(
            channel, place.setup(**changes), id="x", isolation=Isolation.PROCESS, image={}
        )
        sessions.append(session)
        return session

    yield start
    for session in sessions:
        await session.close()


async def nothing_stays(session, place) -> None:
    for code in (HIDE, "import time; time.sleep(100)", HIDE):
        began = time.monotonic()
        await session.run(python(code), limits=Limits(wall_seconds=0.5))
        assert time.monotonic() - began < 3
        assert place.alive() == []
    assert text(await session.run(one("echo", "on"))) == "on\n"


async def test_sources_are_compiled_where_the_code_does_not_fit(started, place):
    session = await started(changed("tree", "SIGKILL = 9", "SIGKILL = 9"))
    await nothing_stays(session, place)


async def test_without_children_files_parents_are_looked_at(started, place):
    slow = changed(
        "tree",
        'self.quick = _readable(b"/proc/self/task/%d/children" % os.getpid())',
        "self.quick = False",
    )
    session = await started(slow)
    assert session.facts["children"] is False
    await nothing_stays(session, place)


async def test_where_slots_adopt_no_orphans_the_supervisor_ends_them(started, place):
    session = await started(
        changed("slot", "system.prctl(PR_SET_CHILD_SUBREAPER, 1)", "raise OSError")
    )
    await nothing_stays(session, place)
    outcomes = await asyncio.gather(
        session.run(shell("sleep 1; echo done")),
        session.run(python(HIDE), limits=Limits(wall_seconds=0.5)),
    )
    assert text(outcomes[0]) == "done\n"
    assert place.alive() == []


@as_root
async def test_without_proc_calls_take_turns_and_still_end(started, place):
    wrapper = ("unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "sh")
    session = await started(payload(), wrapper)
    assert (session.facts["proc"], session.facts["overlap"]) == (False, 1)
    await nothing_stays(session, place)


@as_root
async def test_where_the_interpreter_is_out_of_reach_everything_was_imported(
    started, place, tmp_path
):
    top = place.top / "jail"
    for name in ("workspace", "dev", "proc"):
        (top / name).mkdir(parents=True)
    shutil.chown(top / "workspace", UID, UID)
    bind = f'mount --bind /dev {top}/dev && mount -t proc proc {top}/proc && exec "$@"'
    session = await started(
        payload(),
        ("unshare", "--mount", "sh", "-c", bind, "sh"),
        chroot=str(top),
        roots={"workspace": "/workspace"},
    )
    written = await session.write_file("a/b", b"line\n")
    assert written.size == 5
    assert (await session.search_text("l.ne", regex=True))[0].line == 1
    assert (await session.find_files("**")).paths == ("a/b",)
    assert (await session.run(one("true"))).code == 127
    await session.get_tree(tmp_path / "out.tar")
    await session.put_tree(tmp_path / "out.tar")


async def test_without_openat2_paths_are_walked(started, place):
    session = await started(changed("path", "_openat2 = None", "_openat2 = False"))
    assert session.facts["openat2"] is False
    (place.workspace / "out").symlink_to("/etc/passwd")
    (place.workspace / "in").symlink_to("file")
    (place.workspace / "file").write_text("inside")
    assert (await session.read_file("out")).code == "path-escape"
    assert (await session.read_file("in")).data == b"inside"
    assert text(await session.run(shell("pwd"), cwd="./.")) == f"{place.workspace}\n"


def test_the_flag_for_lazy_annotations_is_right_for_this_python():
    assert str(__future__.annotations.compiler_flag) in parcel.UNPACK


async def test_a_slot_that_cannot_begin_is_not_tried_for_ever(started):
    session = await started(changed("slot", "rlimit.apply(limits)", "raise ValueError"))
    assert (await session.run(one("true"))).ending == "lost"
