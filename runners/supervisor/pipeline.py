"""Starting the stages of one pipeline, in a slot, and waiting until nothing of it is left.

A request holds: ``stages`` (list of dicts: argv, path, env, stdin, stdout, stderr), ``cwd``,
``env`` (pairs). A stream is None or a tuple: ("null",), ("file", path[, append]), ("text", data),
("feed",) the input that the harness sends, ("stdout",).
"""

import _signal  # type: ignore[import-not-found]
import errno
import posix as os
import time

from runners.supervisor import filter as seccomp
from runners.supervisor import system
from runners.supervisor.box import Box

TYPE_CHECKING = False
if TYPE_CHECKING:  # imports for annotations cost milliseconds at start
    from resource import struct_rusage
    from typing import Any

    Stream = tuple[Any, ...] | None

__all__ = ["Pipeline"]

PATH = (b"/usr/local/sbin", b"/usr/local/bin", b"/usr/sbin", b"/usr/bin", b"/sbin", b"/bin")

IGNORED = (1, 2, 3, 10, 12, 13, 14, 15, 21, 22, 24, 25)
"""Signals that the supervisor ignores (24, 25: Python's own); programs get the default again."""

EVERY_SIGNAL = _signal.valid_signals()
"""Set to the default again in one call each; of those not named, a C library asks first."""

NOT_FOUND = 127
NOT_STARTED = 126


class StageError(Exception):
    """Why a stage was not started."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Pipeline:
    """The processes of one call, from the first start to ECHILD."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.codes: list[int] = []
        self.error = ""
        self.cpu = 0.0
        self.cpu_most = 0.0
        self.rss = 0
        self.began = time.monotonic()
        self.wall = 0.0
        self.running: dict[int, int] = {}

    def facts(self) -> "tuple[Any, ...]":
        """What the supervisor makes the outcome of."""
        return self.codes, self.error, self.wall, self.cpu, self.cpu_most, self.rss

    def start(self, request: "dict[str, Any]", fds: "list[int]") -> None:
        """Start all stages; ``fds`` are [feed,] stdout, stderr."""
        stages = request["stages"]
        self.codes = [NOT_STARTED] * len(stages)
        streams = _Streams(self.box, request["cwd"], fds)
        try:
            self._enter(request["cwd"])
        except OSError as error:
            self.error = "cannot enter the folder %s: %s" % (_show(request["cwd"]), _why(error))
            streams.close()
            return
        upstream = -1
        for index in range(len(stages)):
            upstream = self._start_stage(request, index, streams, upstream)
        streams.close()

    def _enter(self, cwd: bytes) -> None:
        if cwd == b".":
            os.fchdir(self.box.roots["workspace"].fd)
            return
        folder = self.box.open_folder(cwd)
        try:
            os.fchdir(folder)
        finally:
            os.close(folder)

    def _start_stage(
        self,
        request: "dict[str, Any]",
        index: int,
        streams: "_Streams",
        upstream: int,
    ) -> int:
        """Start one stage; the reading end of its pipe to the next one."""
        stage = request["stages"][index]
        last = index == len(self.codes) - 1
        opened: list[int] = [upstream] if upstream >= 0 else []
        downstream = write_end = -1
        try:
            if not last:
                downstream, write_end = os.pipe2(os.O_CLOEXEC)
                opened.append(write_end)
            stdin = streams.source(stage["stdin"], upstream, opened)
            stdout = streams.target(stage["stdout"], write_end, opened)
            stderr = streams.stderr(stage["stderr"], stdout, opened)
            env = dict(self.box.env)
            env.update(request["env"])
            env.update(stage["env"])
            pid = _spawn(stage, env, (stdin, stdout, stderr))
            self.running[pid] = index
            _lower_priority(pid, self.box.settings["nice"], self.box.key)
        except StageError as error:
            self.codes[index] = error.code
            self.error = self.error or error.message
        except OSError as error:
            self.error = self.error or "%s: %s" % (_show(_name(stage)), _why(error))
        finally:
            for fd in opened:
                os.close(fd)
        return downstream

    def wait(self) -> bool:
        """Wait for the stages; True when nothing else of the call is left."""
        while self.running:
            self._reaped(*os.wait4(-1, 0))
        self.wall = time.monotonic() - self.began
        return self.drained(os.WNOHANG)

    def drained(self, flags: int = 0) -> bool:
        """Reap whoever has ended (with 0: wait for all); True at ECHILD: nothing exists."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, flags)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            self._reaped(pid, status, usage)

    def _reaped(self, pid: int, status: int, usage: "struct_rusage") -> None:
        cpu = usage.ru_utime + usage.ru_stime
        self.cpu += cpu
        self.cpu_most = max(self.cpu_most, cpu)
        self.rss = max(self.rss, usage.ru_maxrss * 1024)
        index = self.running.pop(pid, None)
        if index is not None:
            self.codes[index] = -(status & 0x7F) if status & 0x7F else status >> 8


class _Streams:
    """Where the standard streams of the stages lead."""

    def __init__(self, box: Box, cwd: bytes, fds: "list[int]") -> None:
        self.box = box
        self.cwd = cwd
        self.fds = fds
        self.null = box.null

    def close(self) -> None:
        """Keep no end of a pipe open in the slot, or nobody would ever see its end."""
        for fd in self.fds:
            os.close(fd)

    def source(self, wanted: "Stream", upstream: int, opened: "list[int]") -> int:
        """The descriptor for standard input."""
        if wanted is None:
            return upstream if upstream >= 0 else self.null
        if wanted[0] == "feed":
            return self.fds[0]
        if wanted[0] == "file":
            return self._file(wanted[1], os.O_RDONLY, opened)
        if wanted[0] == "text":
            return _memory(wanted[1], opened)
        return self.null

    def target(self, wanted: "Stream", write_end: int, opened: "list[int]") -> int:
        """The descriptor for standard output."""
        if wanted is None:
            return write_end if write_end >= 0 else self.fds[-2]
        return self._written(wanted, opened)

    def stderr(self, wanted: "Stream", stdout: int, opened: "list[int]") -> int:
        """The descriptor for standard error."""
        if wanted is None:
            return self.fds[-1]
        if wanted[0] == "stdout":
            return stdout
        return self._written(wanted, opened)

    def _written(self, wanted: "tuple[Any, ...]", opened: "list[int]") -> int:
        if wanted[0] != "file":
            return self.null
        flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if wanted[2] else 0)
        fd = self._file(wanted[1], flags, opened)
        if not wanted[2]:
            os.ftruncate(fd, 0)
        return fd

    def _file(self, name: bytes, flags: int, opened: "list[int]") -> int:
        try:
            fd = self.box.open(name, self.cwd, flags, 0o666)
        except OSError as error:
            raise StageError(
                NOT_STARTED, "cannot open %s: %s" % (_show(name), _why(error))
            ) from None
        opened.append(fd)
        if os.fstat(fd).st_mode & 0o170000 != 0o100000:
            raise StageError(NOT_STARTED, "cannot open %s: not a regular file" % _show(name))
        os.set_blocking(fd, True)
        return fd


def _memory(data: bytes, opened: "list[int]") -> int:
    """A file of this content that has no name."""
    fd = os.memfd_create("input")
    opened.append(fd)
    os.write(fd, data)
    os.lseek(fd, 0, 0)
    return fd


def _name(stage: "dict[str, Any]") -> bytes:
    """What the program is called: its first word."""
    argv: list[bytes] = stage["argv"]
    return argv[0] if argv else b""


def _spawn(stage: "dict[str, Any]", env: "dict[bytes, bytes]", fds: "tuple[int, ...]") -> int:
    name = _name(stage)
    try:
        return os.posix_spawn(
            stage["path"] or _look_up(name),
            stage["argv"],
            env,
            file_actions=[(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(fds)],
            setsid=True,
            setsigmask=(),
            setsigdef=EVERY_SIGNAL,
        )
    except (OSError, ValueError) as error:
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_STARTED
        raise StageError(code, "%s: %s" % (_show(name), _why(error))) from None


def _lower_priority(pid: int, nice: int, key: "tuple[int, int]") -> None:
    """Programs stand behind the slot and the supervisor, which end them."""
    side = 1 if system.ARM64 else 0
    try:
        system.syscall(seccomp.PRIORITY[side], key[0] << 32, key[1] << 32 | pid, nice)
    except OSError:
        pass  # it is gone


def _look_up(name: bytes) -> bytes:
    if b"/" in name:
        return name
    for folder in PATH:
        path = folder + b"/" + name
        if name and os.access(path, os.X_OK) and os.stat(path).st_mode & 0o170000 != 0o040000:
            return path
    raise FileNotFoundError(errno.ENOENT, "no such program on the search path")


def _show(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.EXDEV:
        return "the path leaves the workspace"
    return (error.strerror if isinstance(error, OSError) else str(error)) or str(error)
