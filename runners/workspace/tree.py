"""What a folder holds: items by path, what was left out and why, and one digest of it all."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from runners.workspace.name import to_bytes

__all__ = ["Item", "Kind", "LeftOut", "Tree", "under"]

Kind = Literal["file", "dir", "link"]


@dataclass(frozen=True, slots=True)
class Item:
    """A file, folder or symbolic link.

    Attributes:
        kind: which of them.
        mode: the nine permission bits.
        size: bytes of content; 0 for what is no file.
        digest: hex sha256 of the content, "" before it was read.
        target: what a link says.
        offset: where the content begins in the archive that was written, -1 where there is none.
        content: what travels in place of the file's own content.
    """

    kind: Kind
    mode: int = 0o644
    size: int = 0
    digest: str = ""
    target: str = ""
    offset: int = field(default=-1, compare=False)
    content: bytes | None = field(default=None, compare=False)

    @property
    def executable(self) -> bool:
        """Whether its owner may execute this file."""
        return self.kind == "file" and bool(self.mode & 0o100)

    def same(self, other: Item) -> bool:
        """Whether version control would call both equal."""
        if self.kind != other.kind:
            return False
        if self.kind == "file":
            return self.digest == other.digest and self.executable == other.executable
        return self.target == other.target


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A path that did not travel, with the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Tree:
    """The items below a folder, by path relative to it, in byte order of folders.

    ``complete`` is False when a bound was reached and the folder holds more.
    """

    items: Mapping[str, Item] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    complete: bool = True

    @property
    def size(self) -> int:
        """Bytes of content of all files."""
        return sum(item.size for item in self.items.values())

    @property
    def digest(self) -> str:
        """One digest of paths, kinds, executable bits, contents and link targets."""
        state = hashlib.sha256()
        for path in sorted(self.items, key=to_bytes):
            item = self.items[path]
            mode = "x" if item.executable else "-"
            for text in (path, item.kind, mode, item.digest, item.target):
                state.update(to_bytes(text) + b"\0")
        return "sha256:" + state.hexdigest()


def under(path: str, names: Mapping[str, object] | frozenset[str]) -> str | None:
    """The name among ``names`` that a path is or lies below, or None."""
    if not names:
        return None
    at = len(path)
    while at > 0:
        if path[:at] in names:
            return path[:at]
        at = path.rfind("/", 0, at)
    return None
