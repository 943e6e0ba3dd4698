"""What went into a box and what came out of it, as plain data with access to the contents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runners.workspace.archive import content_of
from runners.workspace.changes import Change
from runners.workspace.leave import Rules
from runners.workspace.tree import Item, LeftOut, Tree

if TYPE_CHECKING:
    from runners.workspace.patch import Patch
    from runners.workspace.protect import Flag

__all__ = ["CopiedIn", "CopiedOut"]


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
