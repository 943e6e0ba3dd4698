"""A session in a container: what programs can do there, and what they cannot."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from pathlib import Path

import pytest
from docker.errors import NotFound

from policies import Isolation, Limits
from runners.contract import ROOTS
from runners.errors import LostError, UnavailableError
from runners.outcome import Ending, LimitHit
from tests.runners.docker.conftest import SMALL

pytestmark = pytest.mark.docker


async def test_a_program_runs_without_privilege(open_box):
    box = await open_box()
    script = "import os; print(os.getresuid(), os.getresgid(), open('/proc/self/status').read())"
    said = (await box.python(script)).stdout.text()
    assert "(1000, 1000, 1000) (1000, 1000, 1000)" in said
    assert "CapEff:\t0000000000000000" in said
    assert "CapBnd:\t0000000000000000" in said
    assert "NoNewPrivs:\t1" in said
    assert "Seccomp:\t2" in said


async def test_the_session_says_what_it_runs(open_box, machine_image):
    session = (await open_box()).session
    assert session.isolation is Isolation.CONTAINER
    assert session.image["id"] == machine_image
    assert session.paths["workspace"] == "/workspace"


async def test_the_container_is_made_to_end_with_its_connection(open_box, ours, api):
    await open_box()
    (container,) = ours()
    state = api.inspect_container(container)
    config, host = state["Config"], state["HostConfig"]
    assert (config["OpenStdin"], config["StdinOnce"], host["AutoRemove"]) == (True, True, True)
    assert host["LogConfig"]["Type"] == "none"
    assert state["Mounts"] == []
    assert host["Memory"] == host["MemorySwap"] == 96 << 20


async def test_the_system_cannot_be_written(open_box):
    box = await open_box()
    for path in ("/x", "/usr/bin/x", "/etc/x", "/var/x", "/dev/x", "/sys/x", "/proc/x"):
        assert (await box.sh(f"echo x > {path}")).code != 0, path


async def test_every_root_can_be_written_and_programs_in_it_run(open_box):
    box = await open_box()
    for root in ROOTS:
        path = f"{box.session.paths[root]}/program"
        outcome = await box.sh(f"echo 'echo done' > {path}; chmod +x {path}; {path}")
        assert outcome.stdout.text() == "done\n", root


async def test_variables_of_the_image_and_of_the_host_stay_out(open_box, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_HOST", "1")
    box = await open_box(env=(("STOCKADE_TESTS", "/tests"),))
    said = (await box.run("env")).stdout.text()
    assert sorted(line.partition("=")[0] for line in said.splitlines()) == [
        "HOME",
        "LANG",
        "PATH",
        "STOCKADE_TESTS",
        "TMPDIR",
    ]
    assert "SECRET" not in (await box.sh("cat /proc/*/environ 2>&1")).stdout.text()


async def test_there_is_no_network(open_box):
    script = """
import socket
print(sorted(name for _, name in socket.if_nameindex()))
for address in ("169.254.169.254", "1.1.1.1", "172.17.0.1"):
    try:
        socket.create_connection((address, 80), timeout=5)
        print("reached", address)
    except OSError as error:
        print(error.strerror)
"""
    said = (await (await open_box()).python(script)).stdout.text()
    assert said == "['lo']\n" + "Network is unreachable\n" * 3


async def test_loopback_works(open_box):
    script = """
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
client.sendall(b"hello")
print(server.accept()[0].recv(5))
"""
    assert (await (await open_box()).python(script)).stdout.text() == "b'hello'\n"


ATTEMPTS = [
    "mount -t tmpfs none /workspace",
    "umount /workspace",
    "test -e /var/run/docker.sock -o -e /run/docker.sock && echo escaped; false",
    "echo 1 > /proc/sys/kernel/panic",
    "echo c > /proc/sysrq-trigger",
    "cat /proc/kcore > /dev/null",
    "ls /sys/firmware/* && cat /sys/firmware/*/* && echo escaped; false",
    "echo 0 > /sys/fs/cgroup/memory/memory.limit_in_bytes",
    "cat /proc/1/mem > /dev/null",
    "kill -9 1; echo $? > /dev/null; false",
    "cp /bin/bash /tmp/b && chmod u+s /tmp/b && /tmp/b -p -c 'test $EUID = 0'",
]


async def test_attempts_to_get_out_fail_and_the_session_lives_on(open_box):
    box = await open_box()
    for attempt in ATTEMPTS:
        outcome = await box.sh(attempt)
        assert outcome.ending is Ending.EXITED, attempt
        assert outcome.code != 0, attempt
        assert "escaped" not in outcome.stdout.text(), attempt
    assert (await box.run("true")).ok


async def test_a_program_that_takes_too_much_memory_is_told_with_the_counter(open_box):
    outcome = await (await open_box()).python("x = [bytes(1 << 20) * n for n in range(1, 200)]")
    assert outcome.ending in (Ending.KILLED_BY_LIMIT, Ending.EXITED)
    if outcome.ending is Ending.KILLED_BY_LIMIT:
        assert outcome.limit == "memory_mib"
        assert LimitHit("memory_mib", "counter") in outcome.limits_hit
    else:
        assert "MemoryError" in outcome.stderr.text()


async def test_memory_that_no_process_owns_is_limited_too(open_box):
    script = """
import mmap
kept = []
for number in range(200):
    part = mmap.mmap(-1, 1 << 20)
    part.write(b"x" * (1 << 20))
    kept.append(part)
print("survived")
"""
    outcome = await (await open_box()).python(script)
    assert (outcome.ending, outcome.limit) == (Ending.KILLED_BY_LIMIT, "memory_mib")
    assert outcome.limits_hit == (LimitHit("memory_mib", "counter"),)


async def test_a_child_that_ran_out_of_memory_is_told_beside_its_parents_success(open_box):
    script = """
import mmap, os
if os.fork() == 0:
    kept = []
    for number in range(200):
        part = mmap.mmap(-1, 1 << 20)
        part.write(b"x" * (1 << 20))
        kept.append(part)
os.wait()
"""
    outcome = await (await open_box()).python(script)
    assert (outcome.ending, outcome.code) == (Ending.EXITED, 0)
    assert outcome.limits_hit == (LimitHit("memory_mib", "counter"),)


async def test_too_many_processes_are_refused_and_told_with_the_counter(open_box):
    script = """
import os
made = 0
try:
    while made < 500:
        if os.fork() == 0:
            os.pause() if hasattr(os, "pause") else os.read(os.pipe()[0], 1)
        made += 1
except OSError as error:
    print(made < 60, error.strerror)
"""
    outcome = await (await open_box()).python(script)
    assert outcome.stdout.text() == "True Resource temporarily unavailable\n"
    assert LimitHit("processes", "counter") in outcome.limits_hit


async def test_a_fork_bomb_ends_with_its_call(open_box):
    box = await open_box(limits=dataclasses.replace(SMALL, processes=64))
    limits = dataclasses.replace(SMALL, processes=64, wall_seconds=1)
    outcome = await box.sh("bomb() { bomb | bomb & }; bomb; while :; do :; done", limits=limits)
    assert outcome.ending is Ending.TIMED_OUT
    names = (await box.sh("for p in /proc/[0-9]*; do cat $p/comm; done")).stdout.text().split()
    assert names.count("bash") == 1


async def test_a_full_folder_is_an_error_of_the_program(open_box):
    box = await open_box()
    outcome = await box.sh("dd if=/dev/zero of=/workspace/big bs=1M count=100")
    assert outcome.code == 1
    assert "No space left on device" in outcome.stderr.text()
    assert (await box.sh("rm /workspace/big; echo x > /workspace/small")).ok


async def test_files_without_content_are_limited_too(open_box):
    script = """
try:
    for number in range(100_000):
        open(f"/workspace/{number}", "w").close()
    print("made them all")
except OSError as error:
    print(error.strerror)
"""
    outcome = await (await open_box()).python(script)
    assert outcome.stdout.text() == "No space left on device\n"


async def test_what_hides_from_a_timeout_is_gone_after_it(open_box):
    box = await open_box()
    script = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        os.execvp("sleep", ["sleep", "4321"])
    os._exit(0)
time.sleep(1000)
"""
    outcome = await box.python(script, limits=dataclasses.replace(SMALL, wall_seconds=1))
    assert outcome.ending is Ending.TIMED_OUT
    left = await box.sh("cat /proc/[0-9]*/cmdline")
    assert "4321" not in left.stdout.text()


@pytest.mark.parametrize("signal", ["KILL", "STOP"])
async def test_a_program_that_signals_all_reaches_no_other_call(signal, open_box):
    box = await open_box()
    if not box.session.facts["landlock"] or box.session.facts["landlock"] < 6:
        pytest.skip("the kernel has no signal scopes (Landlock ABI 6)")
    began = asyncio.Event()

    async def begin(stream: str, data: bytes) -> None:
        began.set()

    script = "echo on; while ! test -e end; do sleep 0.01; done; echo done"
    other = asyncio.create_task(box.sh(script, on_output=begin))
    await began.wait()
    # Its own slot it does reach, so with STOP it comes to its own deadline.
    await box.sh(f"kill -{signal} -1; true", limits=dataclasses.replace(SMALL, wall_seconds=1))
    await box.session.write_file("end", b"")
    assert (await other).stdout.text() == "on\ndone\n"


async def test_a_box_that_is_killed_under_way_is_a_lost_one_with_the_reason(open_box, ours, api):
    box = await open_box()
    call = asyncio.create_task(box.run("sleep", "100"))
    assert (await box.run("true")).ok
    (container,) = ours()
    api.kill(container)
    with pytest.raises(LostError, match="first process was killed"):
        await call
    with pytest.raises(LostError):
        await box.run("true")


async def test_sessions_do_not_see_each_other(open_box):
    first, second = await asyncio.gather(open_box(), open_box())
    await first.session.write_file("a", b"1")
    assert (await second.sh("ls -A /workspace")).stdout.text() == ""


async def test_after_close_nothing_is_left(open_box, ours):
    box = await open_box()
    await box.session.close()
    assert ours() == {}


async def test_the_container_of_a_brief_session_ends_with_close_and_the_engine_removes_it(
    open_box, ours, api
):
    box = await open_box(brief=True)
    (container,) = ours()
    pid = api.inspect_container(container)["State"]["Pid"]
    await box.session.close()
    assert not Path(f"/proc/{pid}/exe").exists()  # its first process, and with it all others
    await asyncio.to_thread(wait_removed, api, container)
    assert ours() == {}


def wait_removed(api, container) -> None:
    """Returns when the engine has removed it, raises when that takes too long."""
    with contextlib.suppress(NotFound):
        api.wait(container, timeout=20, condition="removed")


async def test_a_workspace_at_another_place_is_made_there(open_box):
    box = await open_box(workspace="/app/src")
    assert (await box.sh("pwd; echo x > y; ls")).stdout.text() == "/app/src\ny\n"


async def test_a_workspace_that_does_not_fit_into_memory_is_on_disk_and_this_is_said(
    open_box, ours, api
):
    said: list[str] = []
    box = await open_box(workspace_mib=100, notice=said.append)
    script = "dd if=/dev/zero of=big bs=1M count=100 status=none && stat -c '%u %s' big; id -u"
    assert (await box.sh(script)).stdout.text() == f"1000 {100 << 20}\n1000\n"
    assert "on the engine's disk, where its size is not limited" in said[0]
    volumes = {v["Name"] for v in api.volumes()["Volumes"] or []}
    (mount,) = api.inspect_container(next(iter(ours())))["Mounts"]
    assert mount["Name"] in volumes
    await box.session.close()
    assert mount["Name"] not in {v["Name"] for v in api.volumes()["Volumes"] or []}
    assert ours() == {}


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("nowhere", "run `stockade images build nowhere`"),
        ("nowhere.invalid/x:1", "run `docker pull nowhere.invalid/x:1`"),
    ],
)
async def test_an_image_that_is_not_here_is_refused_and_never_pulled(name, cure, open_box):
    with pytest.raises(UnavailableError, match="a run never pulls") as caught:
        await open_box(image=name)
    assert cure in str(caught.value)


async def test_a_runtime_that_the_engine_lacks_is_refused(open_box):
    with pytest.raises(UnavailableError, match="has no runtime 'none-such'"):
        await open_box(runtime="none-such")


async def test_an_image_without_python_is_lent_one(open_box, bare_image):
    box = await open_box(image=bare_image)
    assert (await box.sh("echo $((6 * 7))")).stdout.text() == "42\n"
    assert (await box.run("python3", "-V")).code == 127


async def test_an_image_of_one_static_program_works_too(open_box, busybox_image):
    box = await open_box(image=busybox_image)
    assert (await box.run("/bin/busybox", "id", "-u")).stdout.text() == "1000\n"
    await box.session.write_file("a/b", b"x")
    assert (await box.run("/bin/busybox", "cat", "a/b")).stdout.text() == "x"


async def test_an_open_that_is_cancelled_leaves_nothing(open_box, ours):
    for turns in (1, 2, 4, 8, 16, 32, 64):
        opening = asyncio.create_task(open_box())
        for _ in range(turns):
            await asyncio.sleep(0.002)
        opening.cancel()
        (opened,) = await asyncio.gather(opening, return_exceptions=True)
        if not isinstance(opened, BaseException):
            await opened.session.close()
    assert ours() == {}


async def test_limits_of_a_session_bound_its_calls(open_box):
    box = await open_box(limits=Limits(wall_seconds=1, memory_mib=64, disk_mib=32, processes=32))
    outcome = await box.run("sleep", "100", limits=Limits(wall_seconds=50))
    assert outcome.ending is Ending.TIMED_OUT
