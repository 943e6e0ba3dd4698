"""From the archive of a result to what may leave the box: folder, changes, patch, refusals."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path

from runners.supervisor.unpack import unpack
from runners.workspace.archive import folder, read_archive
from runners.workspace.below import remove
from runners.workspace.changes import changes
from runners.workspace.copied import CopiedIn, CopiedOut
from runners.workspace.name import to_bytes, to_text
from runners.workspace.patch import Patch, make_patch
from runners.workspace.protect import Protected, flags
from runners.workspace.tree import LeftOut, Tree, under

__all__ = ["Gate", "restore", "take_out"]


class Gate:
    """Says of a path why its changes stay in the box."""

    def __init__(self, copied: CopiedIn, protected: Protected) -> None:
        self.rules = copied.rules
        self.protected = protected
        self.reasons: dict[str, str | None] = {}  # each path is asked about several times
        # A file that is named as left out and travels all the same went in without its secrets.
        items = copied.tree.items
        self.left_out = frozenset(
            left.path
            for left in copied.tree.left_out
            if left.path not in items or items[left.path].kind == "dir"
        )

    def reason(self, path: str) -> str | None:
        """The reason, or None for what may leave."""
        if path not in self.reasons:
            self.reasons[path] = self.work_out(path)
        return self.reasons[path]

    def work_out(self, path: str) -> str | None:
        """The reason by name, by what was left out, and by rule, in this order."""
        name = self.protected.name_of(path)
        if name:
            return f"protected: changes in {name} never leave a box"
        if under(path, self.left_out):
            return "was left out on the way in"
        return self.rules.stays_in_box(path)

    def open_for(self, path: str) -> bool:
        """Whether a path may leave."""
        return self.reason(path) is None


def take_out(
    copied: CopiedIn, gate: Gate, tar: Path, dest: Path, limit_mib: int, git: str | None
) -> CopiedOut:
    """Unpack the result, put back what may not change, and make the patch."""
    after = read_archive(tar, dest, limit_bytes=limit_mib << 20, wanted=gate.open_for)
    held = frozenset(item.path for item in after.left_out)
    refused = [*after.left_out, *kept_in(copied.tree, after, gate)]

    def leaves(path: str) -> bool:
        return gate.open_for(path) and not under(path, held)

    before = copied.tree
    back = {path for path in before.items if not leaves(path) and not blocked(path, after, leaves)}
    put_back(copied, dest, back)
    items = {path: item for path, item in after.items.items() if leaves(path)}
    items.update({path: before.items[path] for path in back})
    result = Tree(items, (), after.complete)
    if not after.complete:
        empty = Patch(b"", ())
        return CopiedOut(dest, result, (), empty, tuple(refused), (), complete=False)
    found = changes(before, after, leaves)
    out = CopiedOut(dest, result, found, Patch(b"", ()), tuple(refused), tuple(flags(found)))
    patch = make_patch(found, copied.content, out.content, git=git)
    return dataclasses.replace(out, patch=patch)


def kept_in(before: Tree, after: Tree, gate: Gate) -> list[LeftOut]:
    """What changed and stays in the box: one line for each folder and reason."""
    counts: dict[tuple[str, str], list[str]] = {}
    for change in changes(before, after, lambda path: not gate.open_for(path)):
        reason = gate.reason(change.path) or ""
        counts.setdefault((head_of(change.path, gate), reason), []).append(change.path)
    found = []
    for (head, reason), paths in counts.items():
        if len(paths) == 1:
            found.append(LeftOut(paths[0], reason))
        else:
            found.append(LeftOut(head, f"{reason} ({len(paths)} changes)"))
    return found


def head_of(path: str, gate: Gate) -> str:
    """The outermost folder above a path that stays in the box as a whole."""
    parts = path.split("/")
    for count in range(1, len(parts)):
        head = "/".join(parts[:count])
        if not gate.open_for(head):
            return head
    return path


def blocked(path: str, after: Tree, leaves: Callable[[str], bool]) -> bool:
    """Whether a file that came out stands where a folder above a path would be."""
    parts = path.split("/")
    for count in range(1, len(parts)):
        item = after.items.get("/".join(parts[:count]))
        if item is not None and item.kind != "dir" and leaves("/".join(parts[:count])):
            return True
    return False


def put_back(copied: CopiedIn, dest: Path, paths: set[str]) -> None:
    """Create in a result what went in under these paths."""
    if not paths or copied.archive is None:
        return
    with folder(dest) as root, copied.archive.open("rb") as file:
        unpack(
            root,
            file.read,
            1 << 62,
            1 << 62,
            lambda *_: None,
            overlay=False,
            wanted=lambda name: to_text(name) in paths,
        )


def restore(copied: CopiedIn, out: CopiedOut, paths: Iterable[str]) -> None:
    """Make these paths of a result what they were when they went in, or remove them."""
    wanted = set(paths)
    with folder(out.folder) as root:
        for path in sorted(wanted & out.tree.items.keys(), key=to_bytes, reverse=True):
            if out.tree.items[path].kind != "dir":
                remove(root, path)
    put_back(copied, out.folder, wanted & copied.tree.items.keys())
