"""Looking at the operator's folder: what would travel into a box, and what stays, and why."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from runners.errors import WorkspaceError
from runners.supervisor.fault import Refusal, refusal
from runners.supervisor.files import READ, kind_of, read_range
from runners.supervisor.tar import leads_out
from runners.supervisor.walk import Item as Found
from runners.supervisor.walk import Walk
from runners.workspace.leave import Rules
from runners.workspace.name import shown, to_text
from runners.workspace.secret import (
    MAX_PEEK,
    holds_private_key,
    is_git_config,
    without_credentials,
)
from runners.workspace.tree import Item, LeftOut, Tree

__all__ = ["MAX_FILES", "open_source", "scan"]

MAX_FILES = 100_000
MAX_SEEN = 2_000_000  # names looked at, those left out too
LIMIT_MIB = 512


def open_source(source: Path) -> int:
    """A descriptor of the operator's folder, or the reason why it cannot be used."""
    try:
        return os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise WorkspaceError(
            f"the workspace {shown(str(source))} cannot be used: {refusal(error).message}"
        ) from None


def scan(
    source: Path,
    *,
    include: Sequence[str] = (),
    rules: Rules | None = None,
    plain: bool = False,
    limit_mib: int = LIMIT_MIB,
    max_files: int = MAX_FILES,
) -> Tree:
    """What travels of a folder; digests come when it is written into an archive.

    Args:
        source: the folder; a link to one is fine.
        include: patterns in gitignore syntax that override what is left out.
        rules: the same rules again, as `Rules.of` read them.
        plain: everything travels but what cannot (tests and solutions of a task).
        limit_mib: above this a WorkspaceError names the largest folders.
        max_files: above this too.
    """
    root = open_source(source)
    try:
        chosen = None if plain else rules or Rules.of(source, include)
        view = View(chosen)
        walk = Walk(root, MAX_SEEN)
        for found in walk:
            if not view.see(found):
                walk.skip()
        bounds = [LeftOut(to_text(path), reason) for path, reason in walk.bounds]
    finally:
        os.close(root)
    tree = Tree(view.items, tuple(view.left_out + bounds), complete=not view.overflow(walk))
    check_size(source, tree, limit_mib, max_files)
    return tree


class View:
    """Collects the items of a walk under rules."""

    def __init__(self, rules: Rules | None) -> None:
        self.rules = rules
        self.items: dict[str, Item] = {}
        self.left_out: list[LeftOut] = []
        # Folders that stay behind, but below which the operator asked for something.
        self.halved: set[str] = set()

    def overflow(self, walk: Walk) -> bool:
        """Whether there was more than anybody should look at."""
        return any(reason == "too many files" for _, reason in walk.bounds)

    def see(self, found: Found) -> bool:
        """Take one name of the walk; False: do not enter it."""
        path = to_text(found.path)
        folder = found.kind == "dir"
        if self.rules is not None:
            above = path.rpartition("/")[0]
            if above in self.halved:
                return self.see_halved(found, path, folder=folder)
            reason = self.rules.reason(path, folder=folder)
            if reason:
                self.left_out.append(LeftOut(path, reason))
                if folder and path.rpartition("/")[2] != ".stockade":
                    return self.halve(path)
                return False
        return self.take(found, path)

    def halve(self, path: str) -> bool:
        """Enter a folder that stays behind only where a pattern asks for something below."""
        if self.rules is None or not self.rules.include.may_match_below(path):
            return False
        self.halved.add(path)
        return True

    def see_halved(self, found: Found, path: str, *, folder: bool) -> bool:
        """A name in a folder that stays behind: it travels if it was asked for."""
        assert self.rules is not None
        if self.rules.included(path, folder=folder):
            for above in parents(path):
                self.items.setdefault(above, Item("dir", 0o755))
            return self.take(found, path)
        return folder and self.halve(path)

    def take(self, found: Found, path: str) -> bool:
        """Add an item that travels, or the reason why it cannot."""
        try:
            self.add(found, path)
        except OSError as error:
            self.left_out.append(LeftOut(path, refusal(error).message))
            return False
        except Refusal as refused:
            self.left_out.append(LeftOut(path, refused.message))
            return False
        return True

    def add(self, found: Found, path: str) -> None:
        """Look at one name; OSError or Refusal: it cannot travel."""
        if found.kind == "link":
            target = os.readlink(found.name, dir_fd=found.folder)
            if leads_out(found.path, target):
                raise Refusal("path-escape", found.path, "a symbolic link that leads out")
            self.items[path] = Item("link", 0o777, target=to_text(target))
            return
        status = os.stat(found.name, dir_fd=found.folder, follow_symlinks=False)
        mode = stat.S_IMODE(status.st_mode) & 0o777
        if found.kind == "dir":
            self.items[path] = Item("dir", mode)
            return
        if not stat.S_ISREG(status.st_mode):
            raise Refusal("not-a-file", found.path, f"a {kind_of(status.st_mode)}, not a file")
        content = self.content(found, path)
        size = status.st_size if content is None else len(content)
        self.items[path] = Item("file", mode, size, content=content)

    def content(self, found: Found, path: str) -> bytes | None:
        """What travels instead of a file that holds secrets; a key raises Refusal."""
        key, config = path.endswith(".pem"), is_git_config(path)
        if self.rules is None or not (key or config) or self.rules.included(path, folder=False):
            return None
        descriptor = os.open(found.name, READ | os.O_NOFOLLOW, dir_fd=found.folder)
        try:
            data = read_range(descriptor, 0, MAX_PEEK)
        finally:
            os.close(descriptor)
        if key and holds_private_key(data):
            raise Refusal("denied", found.path, "a private key")
        if not config or without_credentials(data) == data:
            return None
        self.left_out.append(LeftOut(path, "its credentials; the rest of the file travels"))
        return without_credentials(data)


def parents(path: str) -> list[str]:
    """The folders above a path, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def check_size(source: Path, tree: Tree, limit_mib: int, max_files: int) -> None:
    """Refuse what is too large, and say where it lies."""
    name = shown(str(source))
    if not tree.complete or len(tree.items) > max_files:
        heads = largest(tree.items, lambda _: 1)
        raise WorkspaceError(
            f"the workspace {name} holds {len(tree.items)} files and folders, more than"
            f" {max_files}; most are in {listed(heads, '')}. List what is not needed in"
            " .stockadeignore."
        )
    if tree.size > limit_mib << 20:
        heads = largest(tree.items, lambda item: item.size)
        raise WorkspaceError(
            f"the workspace {name} holds {mib(tree.size)}, more than the limit of {limit_mib} MiB;"
            f" the largest parts are {listed(heads, 'MiB')}. List what is not needed in"
            " .stockadeignore, or raise disk_mib in the policy's [limits]."
        )


def largest(items: Mapping[str, Item], weigh: Callable[[Item], int]) -> list[tuple[str, int]]:
    """The three folders (or files) of the first level that weigh most."""
    weights: Counter[str] = Counter()
    for path, item in items.items():
        head, below, _ = path.partition("/")
        weights[head + below] += weigh(item)
    return weights.most_common(3)


def listed(heads: list[tuple[str, int]], unit: str) -> str:
    """Names with their weights, for a message."""
    return ", ".join(f"{shown(name)} ({mib(weight) if unit else weight})" for name, weight in heads)


def mib(size: int) -> str:
    """Bytes as MiB, for people."""
    return f"{size / (1 << 20):.1f} MiB"
