"""A patch without git: every file is written whole, as git's binary patches do."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable, Iterable, Sequence

from runners.workspace.changes import Change
from runners.workspace.name import to_bytes
from runners.workspace.tree import Item

__all__ = ["literal_patch", "quoted"]

NOTHING = "0" * 40
LINE = 52  # bytes of content in a line of a binary patch
PLAIN = frozenset(range(0x21, 0x7F)) - frozenset(b'"\\')
ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}

Content = Callable[[str, Item], Iterable[bytes]]


def literal_patch(changes: Sequence[Change], before: Content, after: Content) -> bytes:
    """A patch whose hunks are literals in both directions."""
    parts: list[bytes] = []
    for change in changes:
        old = whole(change.path, change.before, before)
        new = whole(change.path, change.after, after)
        parts.extend(one(change, old, new))
    return b"".join(parts)


def whole(path: str, item: Item | None, content: Content) -> bytes:
    """What version control stores for an item: the text of a link, the content of a file."""
    if item is None:
        return b""
    if item.kind == "link":
        return to_bytes(item.target)
    return b"".join(content(path, item))


def one(change: Change, old: bytes, new: bytes) -> list[bytes]:
    """The lines for one change; another kind of file is a removal and a new file."""
    if change.before and change.after and change.before.kind != change.after.kind:
        return [
            *one(Change(change.path, change.before, None), old, b""),
            *one(Change(change.path, None, change.after), b"", new),
        ]
    head = f"diff --git {quoted('a/', change.path)} {quoted('b/', change.path)}\n"
    was, now = mode(change.before), mode(change.after)
    if change.before is None:
        head += f"new file mode {now}\n"
    elif change.after is None:
        head += f"deleted file mode {was}\n"
    elif was != now:
        head += f"old mode {was}\nnew mode {now}\n"
    if old == new and change.before and change.after:
        return [head.encode()]
    ids = [NOTHING if item is None else blob(data) for item, data in sides(change, old, new)]
    head += f"index {ids[0]}..{ids[1]}" + (f" {was}\n" if was == now else "\n")
    if old == new:  # an empty file comes or goes
        return [head.encode()]
    return [head.encode(), b"GIT binary patch\n", *literal(new), *literal(old)]


def sides(change: Change, old: bytes, new: bytes) -> list[tuple[Item | None, bytes]]:
    """Both sides with their content."""
    return [(change.before, old), (change.after, new)]


def mode(item: Item | None) -> str:
    """The mode that version control keeps."""
    if item is None:
        return ""
    if item.kind == "link":
        return "120000"
    return "100755" if item.executable else "100644"


def blob(data: bytes) -> str:
    """The name of a content in git."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def literal(data: bytes) -> list[bytes]:
    """One direction of a binary patch: deflated, 52 bytes a line, a letter for its length."""
    packed = zlib.compress(data, 9)
    lines = [b"literal %d\n" % len(data)]
    for at in range(0, len(packed), LINE):
        piece = packed[at : at + LINE]
        count = len(piece)
        letter = count + (64 if count <= 26 else 70)  # A-Z for 1 to 26, a-z for 27 to 52
        lines.append(bytes([letter]) + base64.b85encode(piece, pad=True) + b"\n")
    return [*lines, b"\n"]


def quoted(side: str, path: str) -> str:
    """A path in quotes with escapes where it is not plain, blanks included."""
    name = to_bytes(path)
    if all(sign in PLAIN for sign in name):
        return side + path
    return f'"{side}{"".join(map(escaped, name))}"'


def escaped(sign: int) -> str:
    """One byte of a name inside quotes."""
    if sign in PLAIN or sign == 0x20:
        return chr(sign)
    return "\\" + ESCAPES[sign] if sign in ESCAPES else f"\\{sign:03o}"
