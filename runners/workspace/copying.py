"""Copy in, copy out: the operator's folder into a session, the result and a patch out of it."""

from __future__ import annotations

import asyncio
import dataclasses
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.contract import Root, Session
from runners.supervisor.unpack import unpack
from runners.workspace.archive import content_of, folder, read_archive, write_archive
from runners.workspace.below import remove
from runners.workspace.changes import Change, changes
from runners.workspace.leave import Rules
from runners.workspace.name import to_bytes, to_text
from runners.workspace.patch import Patch, make_patch
from runners.workspace.protect import PROTECTED, Flag, Protected, flags
from runners.workspace.scan import MAX_FILES, scan
from runners.workspace.tree import Item, LeftOut, Tree, under

__all__ = ["CopiedIn", "CopiedOut", "copy_in", "copy_out", "restore"]

LIMIT_MIB = 512


@dataclass(frozen=True, slots=True)
class CopiedIn:
    """What went into a root of a session.

    Attributes:
        source: the operator's folder; None for an empty workspace.
        tree: what travelled, with digests, and what was left out, with reasons.
        rules: the rules it was chosen by; they hold on the way out too.
        archive: the file that holds the contents; None when it was not to be kept.
    """

    source: Path | None
    tree: Tree
    rules: Rules
    archive: Path | None

    def content(self, path: str, item: Item) -> Iterator[bytes]:
        """The bytes of a file as it went in."""
        assert self.archive is not None, f"the archive that held {path} was not kept"
        return content_of(self.archive, item)


@dataclass(frozen=True, slots=True)
class CopiedOut:
    """What came out of a session's workspace.

    Attributes:
        folder: the result: what went in, with the changes that may leave the box.
        tree: what is in it.
        changes: what differs from what went in, refused changes not counted.
        patch: the same as a patch in git's form.
        refused: changes that stay in the box, or could not come out, with reasons.
        flagged: changes that somebody should look at.
        complete: False when a bound was reached: then there are neither changes nor patch.
    """

    folder: Path
    tree: Tree
    changes: tuple[Change, ...]
    patch: Patch
    refused: tuple[LeftOut, ...]
    flagged: tuple[Flag, ...]
    complete: bool = True

    def content(self, path: str, _item: Item) -> Iterator[bytes]:
        """The bytes of a file of the result."""
        with (self.folder / path).open("rb") as file:
            while data := file.read(1 << 18):
                yield data


async def copy_in(  # noqa: PLR0913 - each is one choice of the caller
    session: Session,
    source: Path | None,
    *,
    root: Root = "workspace",
    include: Sequence[str] = (),
    plain: bool = False,
    archive: Path | None = None,
    limit_mib: int = LIMIT_MIB,
    max_files: int = MAX_FILES,
) -> CopiedIn:
    """Copy a folder into a root of a session; the folder itself is only read.

    Args:
        session: where to.
        source: the folder; None leaves the root empty.
        root: which root.
        include: patterns that override what is left out.
        plain: nothing is left out but what cannot travel (tests, solutions, results).
        archive: where to keep what went in; `copy_out` needs it for the workspace.
        limit_mib: a larger folder is a WorkspaceError that names its largest parts.
        max_files: as for bytes.
    """
    if source is None:
        return CopiedIn(None, Tree(), Rules((), include), archive)
    with tempfile.TemporaryDirectory(prefix="stockade-in-") as scratch:
        tar = archive or Path(scratch) / "in.tar"

        def read() -> CopiedIn:
            rules = Rules((), include) if plain else Rules.of(source, include)
            tree = scan(
                source,
                rules=rules,
                plain=plain,
                limit_mib=limit_mib,
                max_files=max_files,
            )
            return CopiedIn(source, write_archive(source, tree, tar), rules, archive)

        copied = await asyncio.to_thread(read)
        await session.put_tree(tar, root=root)
    return copied


async def copy_out(
    session: Session,
    copied: CopiedIn,
    dest: Path,
    *,
    protect: Iterable[str] = PROTECTED,
    limit_mib: int = LIMIT_MIB,
    git: str | None = None,
) -> CopiedOut:
    """Copy the workspace out of a session into a new folder, and tell what changed.

    ``protect`` are the names below which no change leaves the box; ``git`` is for `make_patch`.
    """
    with tempfile.TemporaryDirectory(prefix="stockade-out-") as scratch:
        tar = Path(scratch) / "out.tar"
        await session.get_tree(tar, root="workspace", limit_mib=limit_mib)
        gate = Gate(copied, Protected(protect))
        return await asyncio.to_thread(take_out, copied, gate, tar, dest, limit_mib, git)


class Gate:
    """Says of a path why its changes stay in the box."""

    def __init__(self, copied: CopiedIn, protected: Protected) -> None:
        self.rules = copied.rules
        self.protected = protected
        self.left_out = frozenset(
            item.path for item in copied.tree.left_out if item.path not in copied.tree.items
        )

    def reason(self, path: str) -> str | None:
        """The reason, or None for what may leave."""
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
