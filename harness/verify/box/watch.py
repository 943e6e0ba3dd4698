"""Runs a test command as a child and says afterwards what its tests reported.

It comes with its orders on standard input (parcel.py). What it says goes to its own standard
output, signed with a nonce that only it and the harness know; the child never has that descriptor
(its output goes to standard error) and cannot read this process, which is not dumpable. So code
under test can end the child, or this process, but cannot write a verdict.

Standard library only, Python 3.8 and later: it runs under the Python of the box. Every task waits
for it, so it imports only what costs next to nothing: no json, hmac, ctypes, shutil or tempfile.
"""

from __future__ import annotations

import _ctypes
import _signal  # type: ignore[import-not-found]
import marshal
import os
import select
import sys

try:
    from _sha2 import sha256  # type: ignore[import-not-found]
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]  # until Python 3.11
    except ImportError:
        from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Tuple

PR_SET_DUMPABLE = 4
BLOCK = 64
"""Bytes of a block of SHA-256."""

MOST_BYTES = 64 << 20
"""Of reports; a child that sends more is not reporting tests."""


def main(orders: Dict[str, Any]) -> None:
    """Do what the orders say."""
    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
    _ctypes.call_cdeclfunction(prctl, (PR_SET_DUMPABLE, 0, 0, 0, 0))
    before = digest(orders["guarded"])
    folder = os.path.join(os.environ.get("TMPDIR", "/tmp"), "verify-" + os.urandom(8).hex())  # noqa: S108
    os.mkdir(folder, 0o700)
    try:
        report = watch(orders, folder)
    finally:
        clear(folder)
    report["guarded"] = digest(orders["guarded"]) == before
    body = in_json(report)
    sys.stdout.write(seal(orders["nonce"].encode(), body.encode()) + " " + body + "\n")


def seal(key: bytes, message: bytes) -> str:
    """The HMAC of SHA-256; the key is not longer than a block."""
    inner = sha256(bytes(byte ^ 0x36 for byte in key.ljust(BLOCK, b"\0")) + message)
    outer = sha256(bytes(byte ^ 0x5C for byte in key.ljust(BLOCK, b"\0")) + inner.digest())
    return str(outer.hexdigest())


def in_json(value: object) -> str:
    """None, truth values, numbers, texts, and lists and objects of them as JSON."""
    if value is None:
        return "null"
    if isinstance(value, int):  # True and False are
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(map(in_ascii, value)) + '"'
    if isinstance(value, list):
        return "[" + ", ".join(map(in_json, value)) + "]"
    assert isinstance(value, dict)
    return "{" + ", ".join(in_json(key) + ": " + in_json(one) for key, one in value.items()) + "}"


def in_ascii(char: str) -> str:
    """One character of a JSON text."""
    if " " <= char <= "~" and char not in '"\\':
        return char
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join("\\u" + units[at : at + 4] for at in range(0, len(units), 4))


def clear(top: str) -> None:
    """Remove a folder, as far as the child left it removable."""
    for folder, names, files in os.walk(top, topdown=False):
        for remove, held in ((os.unlink, files), (os.rmdir, names)):
            for name in held:
                try:
                    remove(os.path.join(folder, name))
                except OSError:
                    continue
    try:
        os.rmdir(top)
    except OSError:
        return


def watch(orders: Dict[str, Any], folder: str) -> Dict[str, Any]:
    """Run the child to its end and judge what came through its pipe."""
    lay_out(orders, folder)
    ended = ends_of_children()
    key = os.urandom(32)
    key_read, key_write = os.pipe()
    report_read, report_write = os.pipe()
    os.write(key_write, key)
    os.close(key_write)
    environ = dict(os.environ, PYTHONPATH=folder, PYTHONSAFEPATH="1", PYTHONDONTWRITEBYTECODE="1")
    environ["PYTEST_ADDOPTS"] = "-p stockade_report.plugin -p no:cacheprovider"
    environ["STOCKADE_REPORT"] = "%d %d" % (key_read, report_write)
    for fd in (key_read, report_write):
        os.set_inheritable(fd, True)
    try:
        child = spawn(orders["argv"], environ)
    except OSError as error:
        return {"start_error": error.strerror or str(error)}
    os.close(key_read)
    os.close(report_write)
    data, status = collect(child, report_read, ended)
    report = judge(data, key, orders["tests"])
    report["code"] = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    if not report["started"] and tool_is_missing(orders["argv"]):
        return {"start_error": "it has no pytest"}
    return report


def lay_out(orders: Dict[str, Any], folder: str) -> None:
    """Write the plugin's modules, and the tests that it is to look at, where it finds them."""
    package = os.path.join(folder, "stockade_report")
    os.makedirs(os.path.join(package, "__pycache__"))
    for name, data in orders["plugin"].items():
        with open(os.path.join(package, name), "wb") as file:
            file.write(data)
    guarded = sorted({path for top in orders["guarded"] for path in (top, os.path.realpath(top))})
    with open(os.path.join(folder, "orders"), "wb") as file:
        marshal.dump({"wanted": [real(test) for test in orders["tests"]], "guarded": guarded}, file)


def tool_is_missing(argv: List[str]) -> bool:
    """Whether a Python that was to run the test tool does not have it."""
    if argv[1:3] != ["-m", "pytest"]:
        return False
    child = spawn([argv[0], "-I", "-c", "import pytest"], dict(os.environ))
    return os.waitpid(child, 0)[1] != 0


def spawn(argv: List[str], environ: Dict[str, str]) -> int:
    """Start the child: no input, both outputs to our standard error."""
    null = os.open(os.devnull, os.O_RDONLY)
    actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, 2, 1)]
    return os.posix_spawnp(argv[0], argv, environ, file_actions=actions)


def collect(child: int, pipe: int, ended: int) -> Tuple[bytes, int]:
    """What came through the pipe until the child itself ended, and how it ended.

    Not until end of file: something that the child left running may hold the pipe open.
    """
    os.set_blocking(pipe, False)
    data = bytearray()
    awaited = [ended, pipe]
    while True:
        drain(ended, bytearray())  # before the question: what comes later is not missed
        gone, status = os.waitpid(child, os.WNOHANG)
        if not drain(pipe, data):
            awaited = [ended]
        if gone:
            return bytes(data), status
        select.select(awaited, [], [])


def drain(pipe: int, data: bytearray) -> bool:
    """Read what is there, dropping it beyond the bound; whether more may come."""
    while True:
        try:
            chunk = os.read(pipe, 1 << 16)
        except BlockingIOError:
            return True
        if not chunk:
            return False
        if len(data) < MOST_BYTES:
            data += chunk


def ends_of_children() -> int:
    """A descriptor that can be read when a child has ended."""
    ended, told = os.pipe()
    for fd in (ended, told):
        os.set_blocking(fd, False)
    _signal.signal(_signal.SIGCHLD, lambda *_: None)
    _signal.set_wakeup_fd(told)
    return ended


def judge(data: bytes, key: bytes, wanted: List[str]) -> Dict[str, Any]:
    """The reports of the wanted tests; a line with a wrong seal or number spoils all of them."""
    report: Dict[str, Any] = {"started": False, "finished": None, "forged": False, "changed": []}
    phases: Dict[str, List[str]] = {}
    names = {real(test): test for test in wanted}
    count = 0
    for number, line in enumerate(data.split(b"\n")[:-1]):
        said, _, body = line.partition(b" ")
        # Nothing answers the child before its end, so the time of a comparison tells it nothing.
        if said != seal(key, b"%d " % number + body).encode():
            report["forged"] = True
            break
        kind, *fields = (field.decode("unicode_escape") for field in body.split(b"\t"))
        if kind == "start":
            report["started"] = True
        elif kind == "finish":
            report["finished"], report["changed"] = int(fields[0]), fields[1:]
        else:
            when, outcome, test = fields
            count += when == "call"
            if test in names:
                phases.setdefault(test, []).append(when + ":" + outcome)
    good_phases = ["setup:passed", "call:passed", "teardown:passed"]
    report["passed"] = [test for test in wanted if phases.get(test) == good_phases]
    report["ran"] = count
    return report


def real(test: str) -> str:
    """An address with the real path of its file, as the plugin reports it."""
    path, _, rest = test.partition("::")
    return os.path.realpath(path) + "::" + rest


def walk(top: str) -> Iterator[Tuple[str, List[str], List[str]]]:
    """As ``os.walk``, and a file stands for itself."""
    if os.path.isdir(top):
        return os.walk(top)
    return iter([(os.path.dirname(top), [], [os.path.basename(top)])])


def digest(folders: List[str]) -> str:
    """One digest over all files of some folders, and when each of them was last changed.

    A file that was written and written back is the same again, except for that time, which
    nobody can set.
    """
    total = sha256()
    for top in folders:
        for folder, names, files in walk(top):
            names[:] = sorted(name for name in names if name != "__pycache__")
            for name in sorted(files):
                path = os.path.join(folder, name)
                total.update(path.encode("utf-8", "surrogateescape") + b"\0")
                if os.path.lexists(path):
                    total.update(b"%d\0" % os.lstat(path).st_ctime_ns)
                if os.path.isfile(path) and not os.path.islink(path):
                    with open(path, "rb") as file:
                        total.update(file.read() + b"\0")
    return str(total.hexdigest())
