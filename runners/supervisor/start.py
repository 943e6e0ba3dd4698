"""The first thing that runs in a box after BOOT: take SETUP, shut the doors, begin to serve."""

import _signal  # type: ignore[import-not-found]
import marshal
import posix as os
import sys

from runners.supervisor import call, frames, landlock, path, system
from runners.supervisor import filter as seccomp
from runners.supervisor.box import Box
from runners.supervisor.deadman import DeadMan
from runners.supervisor.dispatch import Dispatcher
from runners.supervisor.pipeline import IGNORED
from runners.supervisor.slot import PR_SET_CHILD_SUBREAPER
from runners.supervisor.tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:  # imports for annotations cost milliseconds at start
    from typing import Any

__all__ = ["main"]

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38


def main() -> None:
    """Serve until the harness is gone."""
    try:
        settings = _settings()
        dispatcher, facts = _prepare(settings)
    except Exception as error:  # told to the harness, then the box ends
        text = "%s: %s" % (type(error).__name__, error)
        os.write(1, frames.reply('{"t":"fail","text":%s}' % frames.json_text(text[:2000])))
        os._exit(1)
    for fd in (0, 1):
        call.widen(fd)
        os.set_blocking(fd, False)
    head = {"t": "hello", "version": frames.VERSION, "facts": facts}
    dispatcher.send(frames.reply(frames.json_text(head)))
    dispatcher.run()


def _settings() -> "dict[str, Any]":
    kind, _, _, _, length = frames.HEADER.unpack(_exactly(frames.HEADER.size))
    if kind != frames.SETUP or length > frames.OPEN_MAX:
        raise ValueError("the first frame is not SETUP")
    settings: dict[str, Any] = marshal.loads(_exactly(length))
    return settings


def _exactly(count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = os.read(0, count - len(data))
        if not part:
            os._exit(0)
        data += part
    return data


def _prepare(settings: "dict[str, Any]") -> "tuple[Dispatcher, dict[str, Any]]":
    """Everything in the one order that works."""
    box = Box(settings)
    if settings["preload"] or settings["chroot"] or (settings["uid"] is not None and _closed()):
        from runners.supervisor import operation

        operation.preload()
    oom = _oom_score()
    if settings["chroot"]:
        os.chroot(settings["chroot"])
    os.chdir("/")
    box.open_roots()
    parent = os.getppid()
    _drop(settings["uid"], settings["gid"])
    if settings["pdeathsig"]:
        system.prctl(PR_SET_PDEATHSIG, 9)
        if os.getppid() != parent:
            os._exit(0)
    system.prctl(PR_SET_DUMPABLE, 0)
    system.prctl(PR_SET_NO_NEW_PRIVS, 1)
    system.prctl(PR_SET_CHILD_SUBREAPER, 1)
    os.umask(0o022)
    for number in IGNORED:
        _signal.signal(number, _signal.SIG_IGN)
    if settings["scope"]:
        _confine_signals(parent)
    version = landlock.abi()
    has_openat2 = path.has_openat2()
    if settings["seccomp"]:
        allowed = seccomp.families(own_network=settings["own_network"])
        own_ipc = settings["own_network"] or settings["pid1"]
        box.key = _key()
        if not settings["set_uid"]:
            path.do_without_openat2()
        seccomp.load(
            seccomp.program(
                allowed,
                ptrace=settings["ptrace"],
                outliving=own_ipc,
                set_uid=settings["set_uid"],
                key=box.key,
            )
        )
    view = Tree(alone=settings["alone"])
    deadman = DeadMan(view, settings["lease_seconds"])
    deadman.start()
    dispatcher = Dispatcher(box, view, deadman, oom)
    return dispatcher, {
        "pid": os.getpid(),
        "uid": os.getuid(),
        "python": sys.version.split()[0],
        "landlock": version,
        "openat2": has_openat2,
        "seccomp": settings["seccomp"],
        "proc": view.listed,
        "children": view.quick,
        "overlap": dispatcher.overlap,
        "counters": sorted(dispatcher.counters.files),
    }


def _closed() -> bool:
    """Whether the interpreter's files lie in a folder that another user may not enter."""
    for name in sys.path:
        while name.startswith("/") and len(name) > 1:
            try:
                if not os.stat(name).st_mode & 0o001:
                    return True
            except OSError:
                pass  # what is not there is never imported from
            name = name[: name.rindex("/")]  # noqa: PLW2901
    return False


def _confine_signals(stranger: int) -> None:
    """Let our signals reach nothing but what we start, so that ``kill(-1)`` is a broom of ours.

    Proved on the harness, which the kernel must keep from us now. Before any thread is started:
    Landlock holds the calling thread and what descends from it.
    """
    landlock.restrict([])
    try:
        os.kill(stranger, 0)
    except PermissionError:
        return
    raise OSError("Landlock does not keep signals within the box")


def _key() -> "tuple[int, int]":
    """Two random words, none of them zero."""
    first, second = (int.from_bytes(os.urandom(4), "little") | 1 for _ in range(2))
    return first, second


def _oom_score() -> int:
    """Our own score, opened while we may: slots get theirs by inheritance (crew.py)."""
    try:
        return os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _drop(uid: "int | None", gid: "int | None") -> None:
    """Become the session's own user for ever."""
    if os.geteuid() == 0 and uid is not None:
        for capability in range(64):
            try:
                system.prctl(PR_CAPBSET_DROP, capability)
            except OSError:
                break
    if uid is not None:
        group = uid if gid is None else gid
        os.setgroups([])
        os.setresgid(group, group, group)
        os.setresuid(uid, uid, uid)
