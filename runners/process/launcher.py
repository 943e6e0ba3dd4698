"""Builds the process box's namespaces and root folder, then becomes its supervisor's interpreter.

Run as a program of its own, as root or, where user namespaces are allowed, as anybody. It has the
supervisor's `system.py` with it and else few imports of the standard library, all of them before
the root changes: its start is a part of every session's start. What goes wrong is one line on
standard error and exit 1.

It reads the marshalled dictionary of `config.py` from the descriptor that is its last argument, a
pipe: it is started before its harness knows what is to be built.
"""

import _signal  # type: ignore[import-not-found]  # noqa: F401
import _socket
import errno  # noqa: F401 - these three are the supervisor's, who may find other files
import fcntl
import marshal
import posix as os
import select  # noqa: F401
import sys
from _struct import Struct

from runners.supervisor.system import ARM64, prctl, syscall

TYPE_CHECKING = False  # typing itself would cost more than all other imports
if TYPE_CHECKING:
    from typing import Any

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
NAMESPACES = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2

MOUNT, UMOUNT, PIVOT_ROOT, SET_HOST_NAME, UNSHARE = (
    (40, 39, 41, 161, 97) if ARM64 else (165, 166, 155, 170, 272)
)
MOUNT_SETATTR = 442  # the same number on every architecture
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV = 1, 2, 4

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
SIGKILL = 9

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
DEVICE_LINKS = (
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
)

# The old root stays in sight here until the last mount is made.
STAGE = "/tmp"  # noqa: S108 - hidden behind a file system of our own at once
NEW, OLD = "/new", "/old"

ATTRIBUTES = Struct("=QQQQ")


def main(config: "dict[str, Any]") -> None:
    """Enter the groups, leave the host's namespaces, and split into a warden and the box."""
    for file in config["groups"]:
        with open(file, "w") as entry:  # pathlib costs more than all of this
            entry.write("0")
    flags = NAMESPACES | (CLONE_NEWUSER if config["map"] else 0)
    outside = os.getuid(), os.getgid()
    must("unshare", UNSHARE, flags)
    if config["map"]:
        map_user(config["user"], outside)
    child = os.fork()
    if child:
        warden(child)
    build(config)
    drop(config)


def become(config: "dict[str, Any]") -> None:
    """Turn into the command; one of our own interpreter's version needs no second start of it."""
    argv = config["argv"]
    if not config["same"]:
        os.execve(argv[0], argv, {})
    code = argv.index("-c") + 1
    sys.argv[:] = ["-c", *argv[code + 1 :]]
    exec(argv[code], {"__name__": "__main__"})  # noqa: S102 - what `-c` means


def map_user(inside: "tuple[int, int]", outside: "tuple[int, int]") -> None:
    """One user and one group, ours, under the numbers they have in the box."""
    write("/proc/self/uid_map", f"{inside[0]} {outside[0]} 1")
    write("/proc/self/setgroups", "deny")
    write("/proc/self/gid_map", f"{inside[1]} {outside[1]} 1")


def warden(child: int) -> None:
    """Wait for the box's first process; its end is the end of the box."""
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):  # so that the box alone holds the channel
        os.dup2(null, descriptor)
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def build(config: "dict[str, Any]") -> None:
    """Make the new root folder and change into it."""
    raise_loopback()
    host = b"box"
    must("sethostname", SET_HOST_NAME, host, len(host))
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount("stage", STAGE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m")
    os.mkdir(STAGE + NEW)
    os.mkdir(STAGE + OLD)
    pivot(STAGE, STAGE + OLD)
    mount("root", NEW, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=4m")
    for item in config["system"]:
        make(item, config["user"])
    make_folder(NEW + "/proc")
    mount("proc", NEW + "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    make_devices()
    for item in config["writable"]:
        make(item, config["user"])
    lock(NEW + "/dev")
    lock(NEW)
    os.chdir(NEW)
    pivot(".", ".")
    must("umount the old root", UMOUNT, b".", MNT_DETACH)
    os.chdir("/")


def make(item: "tuple[Any, ...]", user: "tuple[int, int]") -> None:
    """Make one mount of the layout."""
    kind, target, *rest = item
    place = NEW + target
    if kind == "bind":
        bind(rest[0], place, writable=rest[1], optional=rest[2])
    elif kind == "link":
        make_folder(above(place))
        os.symlink(rest[0], place)
    elif kind == "folder":
        make_folder(place)
    elif kind == "tmpfs":
        make_folder(place)
        size, inodes, mode = rest
        owner = "uid={},gid={}".format(*user)
        options = f"size={size},nr_inodes={inodes},mode={mode:04o},{owner}"
        mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, options)
    else:
        make_text(place, rest[0])


def bind(source: str, place: str, *, writable: bool, optional: bool) -> None:
    """Show a host path in the box."""
    source = OLD + source
    if optional and not there(source):
        return
    if is_folder(source):
        make_folder(place)
    else:
        make_folder(above(place))
        if not there(place, follow=False):
            os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o644))
    mount(source, place, None, MS_BIND | MS_REC)
    restrict(place, readonly=not writable)


def make_text(place: str, data: bytes) -> None:
    """A small read-only file, also over one that the image has."""
    hidden = NEW + "/.text"
    write(hidden, data.decode())
    os.chmod(hidden, 0o444)
    if not there(place, follow=False):
        make_folder(above(place))
        os.rename(hidden, place)
        return
    mount(hidden, place, None, MS_BIND)
    restrict(place, readonly=True)
    os.unlink(hidden)  # the mount keeps it


def make_devices() -> None:
    """A /dev with the harmless devices, terminals of its own, and nothing else."""
    dev = NEW + "/dev"
    make_folder(dev)
    mount("dev", dev, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=64k")
    for name in DEVICES:
        os.close(os.open(f"{dev}/{name}", os.O_CREAT | os.O_WRONLY, 0o644))
        mount(f"{OLD}/dev/{name}", f"{dev}/{name}", None, MS_BIND)
    os.mkdir(dev + "/pts")
    mount(
        "devpts",
        dev + "/pts",
        "devpts",
        MS_NOSUID | MS_NOEXEC,
        "newinstance,ptmxmode=0666,mode=0620",
    )
    for name, text in DEVICE_LINKS:
        os.symlink(text, f"{dev}/{name}")


def restrict(place: str, *, readonly: bool) -> None:
    """No set-uid programs and no devices below a mount, nor writing if so wanted.

    One mount at a time on kernels before 5.12; there a mount below a bound folder keeps its flags.
    """
    flags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (MOUNT_ATTR_RDONLY if readonly else 0)
    attributes = ATTRIBUTES.pack(flags, 0, 0, 0)
    try:
        syscall(MOUNT_SETATTR, AT_FDCWD, text(place), AT_RECURSIVE, attributes, len(attributes))
    except OSError:
        pass
    else:
        return
    old = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | (MS_RDONLY if readonly else 0)
    mount(None, place, None, old)


def lock(place: str) -> None:
    """Make one file system of ours read-only, not those mounted below it."""
    mount(None, place, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID)


def raise_loopback() -> None:
    """127.0.0.1 works inside; there is no other interface."""
    probe = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    fcntl.ioctl(
        probe.fileno(), SIOCSIFFLAGS, b"lo".ljust(16, b"\0") + IFF_UP.to_bytes(24, "little")
    )
    probe.close()


def drop(config: "dict[str, Any]") -> None:
    """Give up root for good; order matters (setuid clears the death signal)."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break
    if not config["map"]:
        os.setgroups([])
        uid, gid = config["user"]
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    prctl(PR_SET_PDEATHSIG, SIGKILL)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    # As after an execve: a change of user makes what is ours in /proc root's. The supervisor opens
    # its score for the out-of-memory killer, and is undumpable before any program starts.
    prctl(PR_SET_DUMPABLE, 1)


def make_folder(path: str) -> None:
    """A folder and those above it, where missing."""
    if not is_folder(path):
        make_folder(above(path))
        os.mkdir(path, 0o755)


def above(path: str) -> str:
    """The folder that a path lies in."""
    return path[: path.rindex("/")] or "/"


def there(path: str, *, follow: bool = True) -> bool:
    """Whether something has this name; without ``follow`` also a link to nowhere."""
    try:
        os.stat(path, follow_symlinks=follow)
    except OSError:
        return False
    return True


def is_folder(path: str) -> bool:
    """Whether a path leads to a folder."""
    try:
        return os.stat(path).st_mode & 0o170000 == 0o040000
    except OSError:
        return False


def text(path: str) -> bytes:
    """A path or option as the kernel reads it."""
    return path.encode("utf-8", "surrogateescape") + b"\0"


def mount(
    source: "str | None", target: str, kind: "str | None", flags: int, options: str = ""
) -> None:
    """The system call of that name, or an OSError naming the target."""
    words = [0 if word is None else text(word) for word in (source, target, kind)]
    must(f"mount {target}", MOUNT, *words, flags, text(options))


def pivot(new: str, old: str) -> None:
    """Change the root folder."""
    must("pivot_root", PIVOT_ROOT, text(new), text(old))
    os.chdir("/" if new != "." else ".")


def write(path: str, text: str) -> None:
    """Write a text to a file."""
    with open(path, "w") as file:
        file.write(text)


def must(what: str, number: int, *words: "int | bytes") -> None:
    """A system call; its OSError says what was tried."""
    try:
        syscall(number, *words)
    except OSError as error:
        raise OSError(error.errno, f"{what}: {error.strerror}") from None


if __name__ == "__main__":
    try:
        with open(int(sys.argv[-1]), "rb") as source:
            told = marshal.load(source)  # noqa: S302 - our own harness wrote it
        main(told)
    except EOFError:
        os._exit(1)  # nobody wants a box any more
    except OSError as error:
        sys.stderr.write(f"stockade launcher: {error.strerror or error}\n")
        os._exit(1)
    become(told)
