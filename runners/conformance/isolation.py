"""Promise 11: a program reaches nothing outside its box."""

from __future__ import annotations

import os
import socket
import tempfile
import threading

from runners.conformance.check import Opening, Registry, expect, printed, promised, python, run

__all__ = ["CHECKS"]

check = Registry()
CHECKS = check.checks

SECRET_NAME = "STOCKADE_CONFORMANCE_SECRET"  # noqa: S105 - its value is made for the check

TRY = """
import errno, os, sys
def attempt(what):
    try: what()
    except OSError as error: return errno.errorcode.get(error.errno, str(error))
    return "DONE"
"""


@check(11)
async def there_is_no_network(opening: Opening) -> None:
    """No address outside answers, none is even tried."""
    code = TRY + (
        "import socket\n"
        "def tcp(host, port):\n"
        "    socket.create_connection((host, port), 1).close()\n"
        "targets = [('192.0.2.1', 80), ('169.254.169.254', 80), ('8.8.8.8', 53)]\n"
        "print([attempt(lambda t=t: tcp(*t)) for t in targets])\n"
    )
    async with opening() as session:
        outcome = await python(session, code)
    promised("DONE" not in outcome.stdout.text(), f"no connection: {outcome.stdout.text()}")
    promised("timed out" not in outcome.stdout.text(), "refused at once, not by silence")


@check(11)
async def the_hosts_loopback_is_out_of_reach(opening: Opening) -> None:
    """A service of the host on 127.0.0.1 does not hear of the program."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.2)
    port = server.getsockname()[1]
    code = TRY + (
        "import socket\n"
        f"print(attempt(lambda: socket.create_connection(('127.0.0.1', {port}), 1)))\n"
    )
    with server:
        async with opening() as session:
            outcome = await python(session, code)
        try:
            server.accept()[0].close()
            heard = True
        except TimeoutError:
            heard = False
    promised(not heard, "the host's service was reached")
    promised("DONE" not in outcome.stdout.text(), "a connection to the host's loopback was made")


@check(11)
async def files_of_the_host_are_out_of_reach(opening: Opening) -> None:
    """Though everybody on the host may read them."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # noqa: PTH101, S103 - readable on purpose
        path = os.path.join(folder, "secret")  # noqa: PTH118
        with open(path, "w") as file:  # noqa: ASYNC230, PTH123 - a few bytes
            file.write("of the host")
        async with opening() as session:
            outcome = await run(session, "cat", path)
    promised(not outcome.ok and outcome.stdout.total == 0, "a file of the host was read")


@check(11)
async def secrets_of_the_harness_stay_outside(opening: Opening) -> None:
    """No variable of the harness is in any environment that a program can read."""
    value = "hush-" + os.urandom(8).hex()
    os.environ[SECRET_NAME] = value
    code = (
        "import glob, os\n"
        "text = repr(dict(os.environ))\n"
        "for path in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):\n"
        "    try: text += repr(open(path, 'rb').read())\n"
        "    except OSError: pass\n"
        f"print({value!r}[5:] in text)"
    )
    try:
        async with opening() as session:
            # The value itself stands in the program's own command line: look for a part only.
            outcome = await run(session, "python3", "-", stdin=code.encode())
    finally:
        del os.environ[SECRET_NAME]
    expect(outcome.stdout.text().strip(), "False", "the secret is visible")


@check(11)
async def a_program_has_no_privileges(opening: Opening) -> None:
    """Not uid 0, no capability, and no way to gain one."""
    code = (
        "import ctypes, os\n"
        "libc = ctypes.CDLL(None)\n"
        "head, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()\n"
        "libc.capget(head, data)\n"
        "bounding = [n for n in range(41) if libc.prctl(23, n, 0, 0, 0) == 1]\n"
        "print(0 in os.getresuid() + os.getresgid(), list(data), libc.prctl(39, 0, 0, 0, 0))\n"
        "print(bounding)\n"
    )
    async with opening() as session:
        text = await printed(session, code)
    held, bounding = text.splitlines()
    expect(held, "False [0, 0, 0, 0, 0, 0] 1", "root, capabilities, no_new_privs")
    expect(bounding, "[]", "capabilities that a set-uid program could gain")


@check(11)
async def kernel_doors_are_shut(opening: Opening) -> None:
    """Mounting, new namespaces, tracing and other risky calls are refused."""
    code = TRY + (
        "import ctypes\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def call(function, *arguments):\n"
        "    if function(*arguments) < 0: raise OSError(ctypes.get_errno(), '')\n"
        "tries = {\n"
        "  'mount': lambda: call(libc.mount, b'none', b'/tmp', b'tmpfs', 0, None),\n"
        "  'user namespace': lambda: call(libc.unshare, 0x10000000),\n"
        "  'namespace': lambda: call(libc.unshare, 0x00020000),\n"
        "  'trace': lambda: call(libc.ptrace, 16, os.getppid(), 0, 0),\n"
        "  'chroot': lambda: call(libc.chroot, b'/tmp'),\n"
        "  'key': lambda: call(libc.syscall, 248, b'user', b'x', b'y', 1, -4),\n"
        "}\n"
        "if os.uname().machine != 'x86_64': del tries['key']\n"
        "print([name for name, what in tries.items() if attempt(what) == 'DONE'])\n"
    )
    async with opening() as session:
        text = await printed(session, code)
    expect(text, "[]", "calls that worked")


@check(11)
async def the_supervisor_cannot_be_harmed(opening: Opening) -> None:
    """Neither by a signal, nor through its limits, nor through /proc; the session goes on."""
    code = TRY + (
        "import resource, signal\n"
        "for pid in (1, os.getppid()):\n"
        "    for what in (\n"
        "        lambda: os.kill(pid, signal.SIGSTOP),\n"
        "        lambda: os.kill(pid, signal.SIGKILL) if pid == 1 else None,\n"
        "        lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0)),\n"
        "        lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0)),\n"
        "        lambda: open(f'/proc/{pid}/mem', 'r+b').close(),\n"
        "        lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),\n"
        "    ): attempt(what)\n"
        "attempt(lambda: os.kill(-1, signal.SIGKILL))\n"
    )
    async with opening() as session:
        await python(session, code)
        outcome = await run(session, "echo", "unharmed")
    expect(outcome.stdout.data, b"unharmed\n", "the call after an attack on the supervisor")


@check(11)
async def the_memory_of_the_supervisor_is_closed(opening: Opening) -> None:
    """What it knows cannot be read through /proc."""
    code = TRY + (
        "import glob\n"
        "me = str(os.getpid())\n"
        "opened = []\n"
        "for name in ('mem', 'environ', 'maps'):\n"
        "    for path in glob.glob(f'/proc/[0-9]*/{name}'):\n"
        "        if path.split('/')[2] == me: continue\n"
        "        try:\n"
        "            with open(path, 'rb') as file:\n"
        "                data = b'x' if name == 'mem' else file.read(10)\n"
        "        except OSError: continue\n"
        "        if data: opened.append(path)\n"
        "print(opened)\n"
    )
    async with opening() as session:
        text = await printed(session, code)
    expect(text, "[]", "what could be opened of other processes")


@check(11)
async def the_system_is_read_only(opening: Opening) -> None:
    """Programs, libraries and settings cannot be changed."""
    code = TRY + (
        "def put(folder):\n"
        "    with open(f'{folder}/stockade-was-here', 'w'): pass\n"
        "folders = ['/', '/etc', '/usr', '/usr/bin', '/usr/lib', '/proc/sys/kernel', '/dev']\n"
        "print([f for f in folders if attempt(lambda f=f: put(f)) == 'DONE'])\n"
    )
    async with opening() as session:
        text = await printed(session, code)
    expect(text, "[]", "folders that could be written to")


@check(11)
async def home_and_temporary_folder_are_the_programs_own(opening: Opening) -> None:
    """Writable, and programs can be started from them."""
    code = (
        "import os, subprocess\n"
        "for folder in (os.environ['HOME'], os.environ['TMPDIR'], '.'):\n"
        "    path = os.path.join(folder, 'tool')\n"
        "    with open(path, 'w') as file: file.write('#!/bin/sh\\necho ran\\n')\n"
        "    os.chmod(path, 0o700)\n"
        "    subprocess.run([path], check=True)\n"
    )
    async with opening() as session:
        outcome = await python(session, code)
    expect((outcome.code, outcome.stdout.data), (0, b"ran\n" * 3), "tools in the three folders")


@check(11)
async def two_sessions_share_nothing(opening: Opening) -> None:
    """No file, no process, no shared memory, no network of the other is seen."""
    leave = (
        "import mmap, os, time\n"
        "for folder in ('.', '/tmp', os.environ['TMPDIR'], os.environ['HOME'], '/dev/shm'):\n"
        "    try: open(folder + '/left-by-the-other', 'w').close()\n"
        "    except OSError: pass\n"
    )
    look = (
        "import os\n"
        "folders = ('.', '/tmp', os.environ['TMPDIR'], os.environ['HOME'], '/dev/shm')\n"
        "print([f for f in folders if os.path.exists(f + '/left-by-the-other')])\n"
    )
    async with opening() as one, opening() as other:
        promised((await python(one, leave)).ok, "leaving files works")
        text = await printed(other, look)
        promised(one.id != other.id, "two sessions have two ids")
    expect(text, "[]", "folders in which the other session's files are seen")


@check(11)
async def the_harness_cannot_be_signalled(opening: Opening) -> None:
    """Its pid means nothing in the box, or is refused."""
    code = TRY + (
        "import signal\n"
        f"harness = {os.getpid()}\n"
        "print(attempt(lambda: os.kill(harness, signal.SIGUSR1)))\n"
    )
    heard = threading.Event()
    import signal

    old = signal.signal(signal.SIGUSR1, lambda *_: heard.set())
    try:
        async with opening() as session:
            await printed(session, code)
    finally:
        signal.signal(signal.SIGUSR1, old)
    promised(not heard.is_set(), "a signal of the program reached the harness")
