"""Unified diffs: read strictly, applied exactly."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["FilePatch", "Hunk", "PatchError", "apply_hunks", "parse_patch"]

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NOTHING = "/dev/null"
_PREAMBLE = (
    "diff ",
    "index ",
    "old mode ",
    "new mode ",
    "deleted file mode ",
    "new file mode ",
    "similarity index ",
    "rename from ",
    "rename to ",
)


class PatchError(ValueError):
    """A text that is no unified diff, or one that does not fit."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place: the lines that must be there, and those that take their place."""

    start: int  # first line of the old text, from 1
    old: tuple[str, ...]
    new: tuple[str, ...]
    old_ends: bool = True  # the last line ends with a newline
    new_ends: bool = True


@dataclass(slots=True)
class FilePatch:
    """What happens to one file; a missing side is None."""

    old: str | None
    new: str | None
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that it reads or writes."""
        return tuple(dict.fromkeys(p for p in (self.old, self.new) if p is not None))


def parse_patch(text: str) -> list[FilePatch]:
    """The files of a patch, or PatchError with the line at fault."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    patches: list[FilePatch] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("--- "):
            at = _file(lines, at, patches)
        elif line.startswith("@@"):
            raise PatchError(f"line {at + 1}: a hunk before any '--- ' line")
        elif line.startswith(("GIT binary patch", "Binary files")):
            raise PatchError(f"line {at + 1}: binary files cannot be patched")
        elif line.startswith("rename ") or not line.strip() or line.startswith(_PREAMBLE):
            at += 1
        else:
            raise PatchError(f"line {at + 1}: not part of a unified diff: {line[:40]!r}")
    if not patches:
        raise PatchError("there is no file in it")
    seen: set[str] = set()
    for patch in patches:
        for path in patch.paths:
            if path in seen:
                raise PatchError(f"{path} is patched twice")
        seen.update(patch.paths)
    return patches


def _file(lines: list[str], at: int, patches: list[FilePatch]) -> int:
    old = _path(lines[at][4:], "a/")
    if at + 1 >= len(lines) or not lines[at + 1].startswith("+++ "):
        raise PatchError(f"line {at + 2}: expected '+++ PATH'")
    new = _path(lines[at + 1][4:], "b/")
    if old is None and new is None:
        raise PatchError(f"line {at + 1}: both sides are {_NOTHING}")
    patch = FilePatch(old, new)
    at += 2
    while at < len(lines) and lines[at].startswith("@@"):
        at = _hunk(lines, at, patch)
    if not patch.hunks:
        raise PatchError(f"line {at}: {new or old} has no hunk")
    patches.append(patch)
    return at


def _path(text: str, prefix: str) -> str | None:
    path = text.split("\t", maxsplit=1)[0].rstrip("\r")
    if path == _NOTHING:
        return None
    if path.startswith('"'):
        raise PatchError(f"quoted paths are not supported: {path[:60]}")
    path = path.removeprefix(prefix)
    if not path:
        raise PatchError("a path is empty")
    return path


def _hunk(lines: list[str], at: int, patch: FilePatch) -> int:
    head = _HUNK.match(lines[at])
    if head is None:
        raise PatchError(f"line {at + 1}: no valid hunk header: {lines[at][:40]!r}")
    first = at
    left = int(head[2]) if head[2] is not None else 1
    right = int(head[4]) if head[4] is not None else 1
    old: list[str] = []
    new: list[str] = []
    ends = [True, True]
    at += 1
    while len(old) < left or len(new) < right:
        if at >= len(lines):
            raise PatchError(f"line {first + 1}: the hunk is shorter than its header says")
        _line(lines[at], at, old, new)
        if len(old) > left or len(new) > right:
            raise PatchError(f"line {at + 1}: the hunk is longer than its header says")
        at += 1
        if at < len(lines) and lines[at].startswith("\\"):
            side = lines[at - 1][:1]
            ends[0] &= side == "+"
            ends[1] &= side == "-"
            at += 1
    patch.hunks.append(Hunk(int(head[1]), tuple(old), tuple(new), ends[0], ends[1]))
    return at


def _line(line: str, at: int, old: list[str], new: list[str]) -> None:
    sign, rest = line[:1], line[1:]
    if sign in (" ", ""):  # editors drop the space of an empty context line
        old.append(rest)
        new.append(rest)
    elif sign == "-":
        old.append(rest)
    elif sign == "+":
        new.append(rest)
    else:
        raise PatchError(f"line {at + 1}: begins with none of ' ', '+', '-': {line[:40]!r}")


def apply_hunks(text: str, patch: FilePatch) -> str:
    """The text after a patch. Each hunk must fit exactly, where it says or at one place nearby."""
    lines = text.split("\n")
    trailing = not lines[-1]
    if trailing:
        lines.pop()
    made: list[str] = []
    done, drift, ends = 0, 0, trailing or not text
    for number, hunk in enumerate(patch.hunks):
        wanted = max(hunk.start - 1 if hunk.old else hunk.start, 0) + drift
        place = _place(lines, hunk, wanted, done)
        if place is None:
            raise PatchError(
                f"{patch.new or patch.old}: hunk {number + 1} (line {hunk.start}) does not fit; "
                "read the file and make the patch again"
            )
        drift = place - (wanted - drift)
        made += lines[done:place]
        made += hunk.new
        done = place + len(hunk.old)
        if done == len(lines):
            ends = hunk.new_ends if hunk.new else ends
    made += lines[done:]
    return "\n".join(made) + ("\n" if made and ends else "")


def _place(lines: list[str], hunk: Hunk, wanted: int, after: int) -> int | None:
    """Where the old lines of a hunk are: as said, else the nearest place behind the last hunk."""
    size = len(hunk.old)
    last = len(lines) - size
    if not size:
        return min(max(wanted, after), len(lines))
    old = list(hunk.old)
    spots = range(after, last + 1)
    for spot in sorted(spots, key=lambda spot: abs(spot - wanted)):
        if lines[spot : spot + size] == old:
            return spot
    return None
