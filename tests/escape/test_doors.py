"""What leads out of a box is shut; the clean twins are the conformance suite's."""

from __future__ import annotations

import pytest

from .conftest import Box

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_no_door_out_of_the_box_is_open(box: Box) -> None:
    outcome = await box.attack("doors")
    answers = dict(line.split() for line in outcome.stdout.text().splitlines())
    opened = {name for name, said in answers.items() if said == "open"}
    assert (outcome.ok, len(answers) > 120, opened) == (True, True, set())


async def test_a_program_may_still_lower_its_own_priority(box: Box) -> None:
    assert await box.said("import os; print(os.nice(3) - os.nice(0))") == "0"
    assert (await box.run("nice", "-n", "5", "true")).ok


async def test_a_program_starts_behind_the_supervisor_and_cannot_come_forward(box: Box) -> None:
    code = """
import os
print(os.getpriority(os.PRIO_PROCESS, 0))
try: os.setpriority(os.PRIO_PROCESS, 0, 0)
except PermissionError: print('refused')
"""
    assert await box.said(code) == "10\nrefused"


async def test_the_key_of_the_priority_call_is_not_guessed(box: Box) -> None:
    code = """
import ctypes, os, random
call = ctypes.CDLL(None, use_errno=True).syscall
word = lambda high, low: ctypes.c_long(high << 32 | low)
number = 140 if os.uname().machine == 'aarch64' else 141
tries = [(1, 1), (0, 1), (1, 0)] + [(random.getrandbits(32), random.getrandbits(32))] * 1000
print(sum(call(number, word(a, 0), word(b, os.getppid()), 19) == 0 for a, b in tries))
"""
    assert await box.said(code) == "0"


async def test_a_setuid_program_gives_no_privilege(box: Box) -> None:
    code = """
import os, shutil, stat, subprocess
shutil.copy('/bin/sh', 'sh'); os.chmod('sh', 0o6755)
print(subprocess.run(['./sh', '-pc', 'id -u; id -g'], capture_output=True, text=True).stdout.split()
      == [str(os.getuid()), str(os.getgid())])
for name in ('su', 'sudo', 'mount', 'passwd', 'newuidmap'):
    path = shutil.which(name)
    if path: subprocess.run([path], stdin=subprocess.DEVNULL, capture_output=True, timeout=5)
print(os.geteuid() == os.getuid() != 0)
"""
    assert await box.said(code) == "True\nTrue"


async def test_a_device_file_cannot_be_made(box: Box) -> None:
    code = """
import os, stat
for kind, number in ((stat.S_IFBLK, os.makedev(8, 0)), (stat.S_IFCHR, os.makedev(1, 1))):
    try: os.mknod('device', kind | 0o600, number); print('made')
    except PermissionError: print('refused')
"""
    assert await box.said(code) == "refused\nrefused"


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "100.100.100.200", "fd00:ec2::254", "172.17.0.1", "10.0.2.2", "1.1.1.1"],
)
async def test_no_address_outside_is_reached(box: Box, address: str) -> None:
    code = """
import socket, sys
reached = False
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    for port in (53, 80):
        try:
            family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
            with socket.socket(family, kind) as s:
                s.settimeout(1); s.connect((sys.argv[1], port)); s.send(b'x'); reached = True
        except OSError: pass
print(reached)
"""
    assert await box.said(code, address) == "False"


async def test_data_in_a_first_packet_goes_nowhere(box: Box) -> None:
    code = """
import errno, socket
for family, host in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
    try:
        with socket.socket(family) as s: s.sendto(b'x', 0x20000000, (host, 9)); print('sent')
    except OSError as error: print(error.errno in (errno.EOPNOTSUPP, errno.EAFNOSUPPORT))
"""
    assert await box.said(code) == "True\nTrue"


async def test_no_socket_of_the_host_is_found(box: Box) -> None:
    code = """
import os, socket, stat
found, names = [], []
for folder in ('/run', '/var/run', '/tmp', '/var/lib', '/dev', os.environ['HOME']):
    for base, _, files in os.walk(folder):
        names += [os.path.join(base, f) for f in files]
names += ['/var/run/docker.sock', '/run/containerd/containerd.sock', '/run/systemd/private',
          '\\0/tmp/dbus', '\\0@docker', '/run/dbus/system_bus_socket']
for name in names:
    try:
        with socket.socket(socket.AF_UNIX) as s: s.connect(name); found.append(name)
    except (OSError, ValueError): pass
print(found)
"""
    assert await box.said(code) == "[]"


async def test_descriptors_of_the_supervisor_are_not_inherited(box: Box) -> None:
    code = """
import os
fds = [int(n) for n in os.listdir('/proc/self/fd')] if os.access('/proc/self/fd', os.R_OK) else []
for fd in range(3, 1024):
    try: os.fstat(fd); print('open', fd, fds)
    except OSError: pass
"""
    outcome = await box.python(code.replace("/proc/self/fd", "/nowhere"))
    assert outcome.stdout.text() == ""


async def test_a_signal_by_the_back_door_of_a_descriptor_does_not_reach_the_supervisor(
    box: Box,
) -> None:
    code = """
import fcntl, os, signal, socket, time
for target in (1, os.getppid(), -1):
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGIO):
        a, b = socket.socketpair()
        try:
            fcntl.fcntl(a, fcntl.F_SETOWN, target); fcntl.fcntl(a, 10, number)
            fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
            if target == 1: b.send(b'x')
        except OSError: pass
print('done')
"""
    assert await box.said(code) == "done"
    assert await box.is_well()
