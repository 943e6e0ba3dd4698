"""Tree: a root file system as a folder; unpacking, digest, what is inside."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from sandbox_images.errors import ImageError

__all__ = [
    "MOUNT_POINTS",
    "dpkg_packages",
    "find_python",
    "finish_tree",
    "tar_argv",
    "tree_digest",
    "unpack",
]

MOUNT_POINTS = ("workspace", "tests", "logs", "solution")
SKIPPED = (b"dev", b"proc", b"sys", b"run")
"""Boxes mount their own; whatever a builder left there is not part of the image."""

NEUTRAL = {"hostname": "box\n", "hosts": "127.0.0.1 localhost box\n", "resolv.conf": ""}
"""Builders copy the host's own into the tree; they are nobody's business inside."""


def unpack(source: Path, tree: Path) -> None:
    """Unpack an archive that our own builder or engine wrote, owners as far as we may."""
    tree.mkdir()
    argv = ["tar", "-x", "-p", "-f", str(source), "-C", str(tree), "--numeric-owner"]
    if os.geteuid() != 0:
        argv.append("--no-same-owner")
    for name in ("dev", "proc", "sys", "run"):
        argv += [f"--exclude=./{name}/*", f"--exclude={name}/*"]
    argv += ["--anchored", "--exclude=.dockerenv", "--exclude=./.dockerenv"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ImageError(f"the root tree does not unpack: {done.stderr.strip()[-500:]}")
    tree.chmod(0o755)


def tar_argv(tree: Path) -> list[str]:
    """The command that packs a tree for an engine, its files root's whoever built it."""
    argv = ["tar", "-c", "-C", str(tree), "--numeric-owner", "--sort=name"]
    if os.geteuid() != 0:
        argv += ["--owner=0", "--group=0"]
    return [*argv, "."]


def finish_tree(tree: Path) -> None:
    """Make the folders that every box mounts something on, and neutral names of the machine.

    A tree of the operator's own Dockerfile may have one of them as a link or a file; writing
    through it would leave the tree.
    """
    for name in (*MOUNT_POINTS, "dev", "proc", "sys", "run", "tmp"):
        path = tree / name
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise ImageError(f"/{name} of the image is not a folder; boxes mount one there")
        if not path.exists():
            path.mkdir()
            path.chmod(0o755)
    home = tree / "home"
    if not home.is_symlink() and home.is_dir():
        (home / "box").mkdir(exist_ok=True)
    etc = tree / "etc"
    if etc.is_symlink() or not etc.is_dir():
        return
    for name, text in NEUTRAL.items():
        (etc / name).unlink(missing_ok=True)
        (etc / name).write_text(text)
        (etc / name).chmod(0o644)
    if not (etc / "mtab").is_symlink():
        (etc / "mtab").unlink(missing_ok=True)
        (etc / "mtab").symlink_to("/proc/mounts")  # as every engine makes it


def tree_digest(tree: Path) -> str:
    """Hash of every name, kind, mode, link target and content.

    Owners and times are left out: they differ between root and others, and between builds.
    """
    digest = hashlib.sha256()
    for name, path in walk(os.fsencode(tree), b""):
        entry = os.lstat(path)
        kind = stat.S_IFMT(entry.st_mode)
        head = b"%o %o " % (kind, 0 if kind == stat.S_IFLNK else stat.S_IMODE(entry.st_mode))
        body = b""
        if kind == stat.S_IFLNK:
            body = os.readlink(path)  # noqa: PTH115  the name is bytes
        elif kind == stat.S_IFREG:
            body = content_digest(path)
        digest.update(head + b"%d:%s %d:%s\n" % (len(name), name, len(body), body))
    return "sha256:" + digest.hexdigest()


def walk(folder: bytes, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Names below a folder in a fixed order, each with its path."""
    for name in sorted(os.listdir(folder)):  # noqa: PTH208  names are bytes
        path, relative = folder + b"/" + name, prefix + name
        yield relative, path
        if prefix == b"" and name in SKIPPED:
            continue
        if stat.S_ISDIR(os.lstat(path).st_mode):
            yield from walk(path, relative + b"/")


def content_digest(path: bytes) -> bytes:
    """Hash of a file's bytes."""
    with open(path, "rb") as file:  # noqa: PTH123  the name is bytes
        return hashlib.file_digest(file, "sha256").digest()


def dpkg_packages(tree: Path) -> dict[str, str]:
    """Versions of the packages that the tree's own package database lists."""
    try:
        text = (tree / "var/lib/dpkg/status").read_text(errors="replace")
    except OSError:
        return {}
    found = {}
    for paragraph in text.split("\n\n"):
        name = re.search(r"^Package: (.+)$", paragraph, re.MULTILINE)
        version = re.search(r"^Version: (.+)$", paragraph, re.MULTILINE)
        if name and version and "\nStatus: install ok installed" in "\n" + paragraph:
            found[name[1]] = version[1]
    return found


def find_python(tree: Path) -> tuple[str | None, str]:
    """The interpreter of a tree and its version, found without running anything of it."""
    for folder in ("usr/local/bin", "usr/bin", "bin"):
        link = tree / folder / "python3"
        if not link.is_symlink() and not link.is_file():
            continue
        target = link.readlink().name if link.is_symlink() else link.name
        found = re.fullmatch(r"python(3\.\d+)", target)
        return f"/{folder}/python3", found[1] if found else ""
    return None, ""
