"""What a box's root folder is made of: an ordered list of mounts, from an image tree or the host.

The list is data: bubblewrap turns it into flags, the process box into mount calls. Nothing is
mounted here, and nothing but the names of the tree's folders is read.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from policies import Limits
from runners.contract import Root, SessionSpec
from runners.errors import WorkspaceError

__all__ = [
    "HOME",
    "Bind",
    "Folder",
    "Layout",
    "Link",
    "Mount",
    "Text",
    "Tmpfs",
    "accounts",
    "box_roots",
    "host_layout",
    "shares",
    "tree_layout",
]

HOME = "/home/box"
BYTES_PER_INODE = 4096
SMALL_MIB = 64  # tests, logs, solution, home and shared memory, each at most

FIXED: Mapping[Root, str] = {
    "tests": "/tests",
    "logs": "/logs",
    "solution": "/solution",
    "tmp": "/tmp",  # noqa: S108 - a path inside the box
}

# Folders of the system that a workspace may not replace, nor lie in.
KERNEL_FOLDERS = ("/proc", "/dev", "/sys")
SYSTEM_FOLDERS = ("/", "/bin", "/etc", "/home", "/lib", "/lib64", "/sbin", "/usr", "/usr/bin")

# What programs need of a host's /etc (boxes.md C5, H2); the rest would tell about the host.
HOST_ETC = (
    "alternatives", "ca-certificates.conf", "gitconfig", "host.conf", "java-17-openjdk",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "localtime", "magic",
    "mime.types", "nsswitch.conf", "os-release", "protocols", "services", "ssl", "timezone",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bind:
    """A host path seen at a box path, read-only unless said; an optional one may be missing."""

    source: str
    target: str
    writable: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link."""

    text: str
    target: str


@dataclass(frozen=True, slots=True)
class Folder:
    """An empty folder of the root's own file system."""

    target: str


@dataclass(frozen=True, slots=True)
class Tmpfs:
    """A file system in memory with a size, owned by the box's user."""

    target: str
    size_mib: int
    mode: int = 0o700

    @property
    def inodes(self) -> int:
        """How many files it may hold; each costs memory that the size does not count."""
        return (self.size_mib << 20) // BYTES_PER_INODE


@dataclass(frozen=True, slots=True)
class Text:
    """A small read-only file made by us."""

    target: str
    data: bytes


FOLDER_MODE = 0o755
"""What the boxes give a Folder."""

Mount = Bind | Link | Folder | Tmpfs | Text

# Runtimes count their processors here (node saw none without it).
PROCESSORS = Bind("/sys/devices/system/cpu", "/sys/devices/system/cpu", optional=True)


@dataclass(frozen=True, slots=True)
class Layout:
    """A box's root folder.

    Attributes:
        system: read-only mounts that programs come from, in order.
        writable: the roots, home and shared memory, in order; they come after /proc and /dev.
        python: absolute path in the box of the interpreter that runs the supervisor.
        roots: where each root lies in the box.
        version: of the interpreter, as in "3.11.2"; "" where it is not known.
        image: name, id and so on for the lock.
    """

    system: tuple[Mount, ...]
    writable: tuple[Mount, ...]
    python: str
    roots: Mapping[Root, str]
    version: str = ""
    image: Mapping[str, str] = field(default_factory=dict)

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """All of them, in order."""
        return self.system + self.writable

    @property
    def inodes(self) -> dict[str, int]:
        """How many files each writable folder in memory may hold."""
        folders = [mount for mount in self.writable if isinstance(mount, Tmpfs)]
        return {mount.target: mount.inodes for mount in folders}


def shares(limits: Limits) -> dict[str, int]:
    """The sizes of the writable folders in MiB: workspace and tmp share disk_mib (decision 31).

    The others come out of the memory limit, and never take much of it: what lies in memory cannot
    be ended, so that a box full of it could start nothing any more.
    """
    tmp = max(1, limits.disk_mib // 4)
    small = max(1, min(SMALL_MIB, limits.disk_mib // 8, limits.memory_mib // 16))
    sizes = dict.fromkeys(("tests", "logs", "solution", "home"), small)
    shared = max(1, min(SMALL_MIB, limits.memory_mib // 8))
    return {"workspace": max(1, limits.disk_mib - tmp), "tmp": tmp, "shm": shared, **sizes}


def box_roots(workspace: str) -> dict[Root, str]:
    """Where each root lies in a box with fixed paths; WorkspaceError for an unfit workspace."""
    path = posixpath.normpath(workspace)
    if not workspace.startswith("/") or path != workspace.rstrip("/") or "\0" in workspace:
        raise WorkspaceError(f"workspace path {workspace!r} in the box: absolute and plain, please")
    if path in SYSTEM_FOLDERS or path in FIXED.values() or beneath(path, KERNEL_FOLDERS):
        raise WorkspaceError(f"workspace path {workspace!r} in the box would hide a system folder")
    return {"workspace": path, **FIXED}


def tree_layout(
    tree: Path,
    spec: SessionSpec,
    *,
    python: str = "/usr/bin/python3",
    user: tuple[int, int] | None = None,
    image: Mapping[str, str] | None = None,
) -> Layout:
    """The layout whose programs come from an image's root tree.

    ``user`` are the uid and gid in the box where they are not those that the image made.
    """
    roots = box_roots(spec.workspace)
    targets = [*roots.values(), HOME, "/proc", "/dev", "/sys"]
    system = (*spread(tree, "/", targets), *(accounts(*user) if user else ()), PROCESSORS)
    named = dict(image or {"name": tree.name})
    return Layout(system, writable(roots, spec), python, roots, image=named)


def accounts(uid: int, gid: int) -> tuple[Text, Text]:
    """The two account files: the box's user under a plain name, and nobody of the host's."""
    shell = "/usr/sbin/nologin"
    users = f"root:x:0:0:root:/root:{shell}\nbox:x:{uid}:{gid}:box:{HOME}:/bin/sh\n"
    groups = f"root:x:0:\nbox:x:{gid}:\n"
    users += f"nobody:x:65534:65534:nobody:/nonexistent:{shell}\n"
    groups += "nogroup:x:65534:\n"
    return Text("/etc/passwd", users.encode()), Text("/etc/group", groups.encode())


def spread(tree: Path, folder: str, targets: Sequence[str]) -> Iterator[Mount]:
    """Bind the entries of a folder one by one, so that absent mount points can be made in it.

    An entry is bound whole unless a mount point lies below it that the tree does not have; the
    mount points themselves are left out.
    """
    with os.scandir(tree / folder.lstrip("/")) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        path = posixpath.join(folder, entry.name)
        if path in targets:
            continue
        if entry.is_symlink():
            yield Link(os.readlink(entry.path), path)  # noqa: PTH115 - the text, not a Path
        elif entry.is_dir() and any(lacks(tree, path, target) for target in targets):
            yield Folder(path)
            yield from spread(tree, path, targets)
        elif is_plain_and_empty(entry):
            yield Folder(path)  # each bind costs every start of a box
        elif entry.is_dir() or entry.is_file():
            yield Bind(entry.path, path)


def is_plain_and_empty(entry: os.DirEntry[str]) -> bool:
    """Whether a folder is like any that we make ourselves."""
    if not entry.is_dir() or entry.stat().st_mode & 0o7777 != FOLDER_MODE:
        return False
    with os.scandir(entry.path) as found:
        return next(found, None) is None


def lacks(tree: Path, folder: str, target: str) -> bool:
    """Whether a mount point lies below this folder and the tree has no real folder there."""
    if not beneath(target, (folder,)):
        return False
    inside = tree / target.lstrip("/")
    return inside.is_symlink() or not inside.is_dir()


def host_layout(
    spec: SessionSpec,
    *,
    python: str,
    prefix: str | None = None,
    user: tuple[int, int] = (1000, 1000),
    host: Path = Path("/"),
) -> Layout:
    """The layout whose programs are the host's own: what is there where no image tree is.

    Args:
        spec: the session.
        python: the interpreter's path, on the host and in the box.
        prefix: the folder that holds it when it is not below /usr: bound at the same path, since
            a shared-library build has its run path compiled in.
        user: uid and gid in the box.
        host: another root, for tests.
    """
    roots = box_roots(spec.workspace)
    system: list[Mount] = [Bind("/usr", "/usr")]
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        there = host / name.lstrip("/")
        if there.is_symlink():
            system.append(Link(os.readlink(there), name))  # noqa: PTH115 - the text, not a Path
        elif there.is_dir():
            system.append(Bind(name, name))
    system.append(Folder("/etc"))
    system += [Bind(f"/etc/{name}", f"/etc/{name}", optional=True) for name in HOST_ETC]
    system += [*accounts(*user), PROCESSORS]
    if prefix is not None and not beneath(prefix, ("/usr",)):
        system.append(Bind(prefix, prefix))
    return Layout(tuple(system), writable(roots, spec), python, roots, image={"name": "host"})


def writable(roots: Mapping[Root, str], spec: SessionSpec) -> tuple[Mount, ...]:
    """The folders a program may write to, outer ones first, and what is protected in them."""
    sizes = shares(spec.limits)
    mounts: list[Bind | Tmpfs] = [
        Tmpfs("/dev/shm", sizes["shm"], 0o1777),  # noqa: S108 - a path inside the box
        Tmpfs(HOME, sizes["home"]),
    ]
    for root, target in roots.items():
        if root == "workspace" and spec.in_place is not None:
            mounts.append(Bind(str(spec.in_place), target, writable=True))
            mounts += protected(spec.in_place, target, spec.protect)
        else:
            mounts.append(Tmpfs(target, sizes[root], 0o1777 if root == "tmp" else 0o700))
    return tuple(sorted(mounts, key=lambda mount: (mount.target.count("/"), mount.target)))


def protected(folder: Path, target: str, paths: Sequence[str]) -> Iterator[Bind]:
    """Read-only binds over parts of a workspace that is worked on in place (decision 21)."""
    for path in paths:
        parts = path.strip("/").split("/")
        if not all(parts) or ".." in parts or "." in parts:
            raise WorkspaceError(f"protected path {path!r}: relative and plain, please")
        steps = [folder.joinpath(*parts[: count + 1]) for count in range(len(parts))]
        if any(step.is_symlink() for step in steps):
            # Its target may lie anywhere on the host, and would be shown in the box.
            raise WorkspaceError(f"{steps[-1]} is to be protected in place, but leads over a link")
        if steps[-1].exists():
            yield Bind(str(steps[-1]), posixpath.join(target, *parts))


def beneath(path: str, folders: Sequence[str]) -> bool:
    """Whether a path is one of these folders or lies below one."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
