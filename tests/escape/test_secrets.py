"""What a program learns about the host it runs on."""

from __future__ import annotations

import getpass
import os
import socket
from pathlib import Path

import pytest

from .conftest import Box, Opening

pytestmark = pytest.mark.asyncio(loop_scope="module")

LOOK = """
import os, sys
seen = [repr(dict(os.environ)), repr(os.uname().nodename), repr(os.getcwd())]
folders = ['/proc/self', '/proc/1', '/proc/net', '/proc', '/etc', '/proc/sys/kernel', '/sys']
for folder in folders:
    try: names = os.listdir(folder)
    except OSError: continue
    for name in names:
        path = folder + '/' + name
        try:
            if os.path.isfile(path) and name not in ('kmsg', 'kallsyms', 'pagemap', 'mem'):
                fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                seen.append(os.read(fd, 65536).decode('latin-1')); os.close(fd)
            seen.append(os.readlink(path))
        except OSError: pass
words = sys.stdin.read().split('\\n')
print([word for text in seen for word in words if word in text])
"""


async def seen(box: Box, words: list[str]) -> str:
    """Which of the words a program finds; they are not in its own argument vector."""
    outcome = await box.python(LOOK, stdin="\n".join(words).encode())
    assert (outcome.ok, outcome.stderr.text()) == (True, "")
    return outcome.stdout.text().strip()


async def test_the_environment_of_the_harness_stays_outside(
    open_box: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "s3cret-of-the-harness"
    monkeypatch.setenv("STOCKADE_TEST_TOKEN", secret)
    async with open_box() as box:
        assert await seen(box, [secret, "STOCKADE_TEST_TOKEN"]) == "[]"


async def test_names_of_the_host_its_user_and_its_folders_stay_outside(box: Box) -> None:
    words = {str(Path.cwd()), str(Path(__file__).parents[2])}
    host = socket.gethostname()
    if len(host) > 4:  # a shorter one may be part of any word
        words.add(host)
    if getpass.getuser() not in ("root", "user"):
        words.add(str(Path.home()))
    if "plain" in box.session.id or box.session.isolation.label == "process":
        pytest.skip("shares the names of the host, and says so")
    assert await seen(box, sorted(words)) == "[]"


async def test_processes_of_the_host_are_not_seen(box: Box) -> None:
    code = """
import os, sys
try: names = os.listdir('/proc')
except PermissionError: names = []
seen = []
for name in names:
    if name.isdigit():
        try: seen.append(open(f'/proc/{name}/cmdline').read())
        except OSError: pass
print(any('py' + 'test' in text for text in seen))
"""
    assert await box.said(code) == "False"


async def test_files_of_the_host_are_not_readable(box: Box, tmp_path: Path) -> None:
    planted = tmp_path / "secret"
    planted.write_text("secret")
    planted.chmod(0o644)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder.stat().st_uid == os.getuid() and folder != Path("/tmp"):
            folder.chmod(0o755)
    names = [str(planted), str(Path(__file__)), "/etc/shadow", "/root/.ssh", "/var/log/syslog"]
    code = """
import os, sys
for name in sys.argv[1:]:
    try: os.listdir(name) if os.path.isdir(name) else open(name).read()
    except OSError: continue
    print(name)
"""
    assert await box.said(code, *names) == ""


async def test_two_sessions_do_not_see_each_other(open_box: Opening) -> None:
    async with open_box() as one, open_box() as two:
        await one.python(
            "import os, socket\n"
            "for d in ('/tmp', '/dev/shm', os.environ['HOME']):\n"
            "    try: open(d + '/mark', 'w').write('x')\n"
            "    except OSError: pass\n"
        )
        code = (
            "import os; print([d for d in ('/tmp', '/dev/shm', os.environ['HOME'], '.') "
            "if os.path.exists(d + '/mark')])"
        )
        assert await two.said(code) == "[]"
