"""What differs between what went into a box and what came out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from runners.workspace.name import to_bytes
from runners.workspace.tree import Item, Tree

__all__ = ["Change", "changes"]


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs; None stands for nothing there."""

    path: str
    before: Item | None
    after: Item | None

    @property
    def kind(self) -> Literal["added", "deleted", "mode", "modified"]:
        """What happened, in one word."""
        if self.before is None:
            return "added"
        if self.after is None:
            return "deleted"
        same = self.before.kind == self.after.kind == "file"
        return "mode" if same and self.before.digest == self.after.digest else "modified"


def changes(
    before: Tree, after: Tree, wanted: Callable[[str], bool] | None = None
) -> tuple[Change, ...]:
    """The files and links that differ, in byte order; folders count for nothing by themselves."""
    found = []
    for path in sorted({*before.items, *after.items}, key=to_bytes):
        old, new = item_at(before, path), item_at(after, path)
        if old is None and new is None:
            continue
        if (old is None or new is None or not old.same(new)) and (wanted is None or wanted(path)):
            found.append(Change(path, old, new))
    return tuple(found)


def item_at(tree: Tree, path: str) -> Item | None:
    """The file or link at a path."""
    item = tree.items.get(path)
    return None if item is None or item.kind == "dir" else item
