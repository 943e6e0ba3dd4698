"""The patch between what went into a box and what came out, in the form that `git apply` takes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from runners.workspace.changes import Change
from runners.workspace.git import find_git, run_git
from runners.workspace.literal import literal_patch, quoted
from runners.workspace.name import to_bytes
from runners.workspace.scratch import scratch_folder
from runners.workspace.tree import Item

__all__ = ["Content", "Patch", "make_patch"]

Content = Callable[[str, Item], Iterable[bytes]]
"""The bytes of a file, in pieces, by path and item."""

DIFF = [
    "diff",
    "--no-index",
    "--no-prefix",
    "--binary",
    "--full-index",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "a",
    "b",
]


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch in git's form.

    Attributes:
        text: its bytes; empty when nothing differs.
        changes: what it changes.
        maker: "git", or "stockade" where this machine has no git: then every changed file is
            replaced whole instead of by lines.
    """

    text: bytes
    changes: tuple[Change, ...]
    maker: str = "git"

    @property
    def files(self) -> tuple[str, ...]:
        """The paths it changes."""
        return tuple(change.path for change in self.changes)

    @property
    def summary(self) -> str:
        """How many files it changes, and how, in a few words."""
        counts = Counter(change.kind for change in self.changes)
        parts = [f"{count} {kind}" for kind, count in sorted(counts.items())]
        noun = "file" if len(self.changes) == 1 else "files"
        return f"{len(self.changes)} {noun} changed" + (f": {', '.join(parts)}" if parts else "")


def make_patch(
    changes: Sequence[Change], before: Content, after: Content, *, git: str | None = None
) -> Patch:
    """The patch for some changes; ``before`` and ``after`` give the content of files.

    ``git`` is the program to compare with: the one that is found where None, none where "".
    """
    chosen = find_git() if git is None else git
    if not changes:
        return Patch(b"", (), "git" if chosen else "stockade")
    if not chosen:
        return Patch(literal_patch(changes, before, after), tuple(changes), "stockade")
    with scratch_folder("patch") as scratch:
        for side, content in (("a", before), ("b", after)):
            (scratch / side).mkdir()
            for change in changes:
                item = change.before if side == "a" else change.after
                if item is not None:
                    place(
                        os.path.join(to_bytes(str(scratch)), to_bytes(side)),
                        change.path,
                        item,
                        content,
                    )
        _, text = run_git(chosen, DIFF, scratch)
    return Patch(with_plain_heads(text, changes), tuple(changes))


def place(folder: bytes, path: str, item: Item, content: Content) -> None:
    """Create a file or a link below a folder of ours that nobody else can change."""
    name = os.path.join(folder, to_bytes(path))
    os.makedirs(os.path.dirname(name), exist_ok=True)
    if item.kind == "link":
        os.symlink(to_bytes(item.target), name)
        return
    mode = 0o755 if item.executable else 0o644
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(name, flags, 0o600), "wb") as file:
        file.writelines(content(path, item))
        os.fchmod(file.fileno(), mode)


def with_plain_heads(text: bytes, changes: Sequence[Change]) -> bytes:
    """Write the first line of each file as `a/X b/X`, in quotes where the name holds a blank.

    git wrote one side twice where the other is the null device, and blanks without quotes, which
    it cannot read itself when a slash follows one. Nothing else is touched: content lines begin
    with another sign, a line of a binary patch holds no blank, and a name that git quoted is fine.
    """
    wanted = {}
    for change in changes:
        path = to_bytes(change.path)
        line = f"diff --git {quoted('a/', change.path)} {quoted('b/', change.path)}"
        for old, new in ((b"a/", b"b/"), (b"a/", b"a/"), (b"b/", b"b/")):
            wanted[b"diff --git " + old + path + b" " + new + path] = to_bytes(line)
    return b"\n".join([wanted.get(line, line) for line in text.split(b"\n")])
