"""The bubblewrap command line: a pure function of what the box is to be.

Invariants, each one measured: `--unshare-all` alone goes on without a user namespace, so
`--unshare-user` is written too; every tmpfs has a size; /dev/shm is bounded and /dev is closed;
`--remount-ro /` comes after the last mount, since later mount points could not be made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runners.layout import Bind, Folder, Layout, Link, Mount, Tmpfs

__all__ = ["OLDEST", "Plumbing", "Version", "bubblewrap_argv"]

FileDescriptor = int


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A bubblewrap release."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Version | None:
        """From the answer to ``bwrap --version``."""
        words = text.split()
        parts = words[-1].split(".") if words else []
        if len(parts) < 2 or not all(part.isdigit() for part in parts[:2]):
            return None
        return cls(int(parts[0]), int(parts[1]))


OLDEST = Version(0, 7)  # `--size`
DISABLE_USERNS = Version(0, 8)


@dataclass(frozen=True, slots=True)
class Plumbing:
    """The descriptors that bwrap inherits.

    Attributes:
        text: gives a descriptor that reads these bytes.
        info: where bwrap reports the pid of the box's PID 1.
        block: the box waits until this can be read.
    """

    text: Callable[[bytes], FileDescriptor]
    info: FileDescriptor | None = None
    block: FileDescriptor | None = None


def bubblewrap_argv(
    binary: str,
    layout: Layout,
    command: Sequence[str],
    plumbing: Plumbing,
    *,
    version: Version,
    user: tuple[int, int] = (1000, 1000),
    extra: Sequence[Bind] = (),
) -> list[str]:
    """The whole argument vector.

    Args:
        binary: path of bwrap.
        layout: the root folder of the box.
        command: what runs inside as PID 1.
        plumbing: descriptors that bwrap inherits.
        version: options differ by release.
        user: uid and gid in the box.
        extra: more read-only mounts, after /proc and /dev (cgroup counters).
    """
    argv = [binary, "--unshare-user", "--unshare-all"]
    if version >= DISABLE_USERNS:
        argv.append("--disable-userns")
    argv += ["--as-pid-1", "--die-with-parent", "--new-session", "--clearenv"]
    argv += ["--hostname", "box", "--uid", str(user[0]), "--gid", str(user[1])]
    argv += ["--cap-drop", "ALL"]
    for mount in layout.system:
        argv += mount_flags(mount, plumbing.text)
    argv += ["--proc", "/proc", "--dev", "/dev"]
    for mount in (*layout.writable, *extra):
        argv += mount_flags(mount, plumbing.text)
    argv += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]
    if plumbing.info is not None:
        argv += ["--info-fd", str(plumbing.info)]
    if plumbing.block is not None:
        argv += ["--block-fd", str(plumbing.block)]
    return [*argv, "--", *command]


def mount_flags(mount: Mount, text_fd: Callable[[bytes], FileDescriptor]) -> list[str]:
    """The flags of one mount."""
    if isinstance(mount, Bind):
        flag = "--bind" if mount.writable else "--ro-bind"
        return [flag + ("-try" if mount.optional else ""), mount.source, mount.target]
    if isinstance(mount, Link):
        return ["--symlink", mount.text, mount.target]
    if isinstance(mount, Folder):
        return ["--dir", mount.target]
    if isinstance(mount, Tmpfs):
        size = str(mount.size_mib << 20)
        return ["--perms", f"{mount.mode:04o}", "--size", size, "--tmpfs", mount.target]
    return ["--perms", "0444", "--ro-bind-data", str(text_fd(mount.data)), mount.target]
