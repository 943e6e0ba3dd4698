"""Landlock, where the kernel has it: programs reach what the rules name."""

from __future__ import annotations

import pytest

from runners.supervisor import landlock

from .conftest import UID, python, shell, text

pytestmark = pytest.mark.skipif(landlock.abi() == 0, reason="this kernel has no Landlock")

SYSTEM = tuple((folder, "rx") for folder in ("/usr", "/lib", "/lib64", "/bin"))
FILES = (("/etc/ld.so.cache", "r"), ("/dev/null", "dev"), ("/proc/self", "r"))


@pytest.fixture
async def walled(open_session, place):
    return await open_session(
        landlock=(*SYSTEM, *FILES, (str(place.workspace), "rwx"), ("/no/such/path", "r"))
    )


async def test_what_a_rule_names_can_be_used(walled):
    outcome = await walled.run(shell("echo x > new && mkdir d && mv new d/n && cat d/n"))
    assert (text(outcome), outcome.code) == ("x\n", 0)


async def test_what_no_rule_names_is_out_of_reach(walled, place):
    secret = place.top / "tmp" / "secret"
    secret.write_text("secret")
    secret.chmod(0o666)
    for code in (f"cat {secret}", "cat /etc/passwd", "ls /", f"echo x > {secret}", "ls /root"):
        outcome = await walled.run(shell(code))
        assert outcome.code != 0
        assert outcome.stdout.total == 0
    assert secret.read_text() == "secret"


async def test_file_operations_stand_behind_the_same_wall(walled):
    assert (await walled.write_file("a/b", b"x")).size == 1
    assert (await walled.read_file("a/b")).data == b"x"
    assert (await walled.read_file("x", root="tmp")).code in ("denied", "not-found")


@pytest.mark.skipif(landlock.abi() < 6, reason="signals are kept in from Landlock 6 on")
async def test_a_program_cannot_kill_the_supervisor_but_its_call_still_ends(walled, place):
    code = (
        "import os, time\n"
        "stat = open('/proc/self/stat').read()\n"
        "for pid in (os.getppid() - 1, os.getppid()):\n"
        "    try: os.kill(pid, 9)\n"
        "    except PermissionError: print('refused')\n"
        "    except ProcessLookupError: pass\n"
        "if os.fork() == 0: os.setsid(); time.sleep(100)\n"
    )
    outcome = await walled.run(python(code))
    assert outcome.ending in ("exited", "lost")
    assert place.alive() == []
    assert (await walled.run(shell("echo on"))).ok


@pytest.mark.skipif(UID is None, reason="only root gets a uid of its own here")
async def test_overlapping_calls_are_swept_from_outside_the_wall(walled, place):
    outcome = await walled.run(python("import os, time\nif os.fork() == 0: time.sleep(100)"))
    assert outcome.ok
    assert place.alive() == []
