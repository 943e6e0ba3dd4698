"""Finding files by glob, lines by text or pattern, and the names a shell glob stands for.

Every walk is bounded in entries and depth, and follows no link. A regular expression has no bound
of its own: the wall limit of the call ends the slot.
"""

import os

from runners.supervisor.fault import Refusal, refusal
from runners.supervisor.path import open_beneath
from runners.supervisor.walk import Walk
from runners.supervisor.wildcard import Glob, matcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["find_files", "glob_names", "search_text"]

MAX_ENTRIES = 200000
MAX_BYTES = 16 << 20  # of one file; what lies behind is not searched
MAX_TEXT = 500  # characters of a line
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC
# Their insides are no text anybody searches, and would fill every limit.
STORES = (b".git", b".hg", b".svn")


def find_files(root: int, pattern: bytes, path: bytes, limit: int) -> "tuple[list[bytes], bool]":
    """Regular files below ``path`` whose path relative to it matches: paths relative to the root.

    False beside them says that a bound was reached and there may be more.
    """
    found = []  # type: list[bytes]
    walk = start(root, path)
    try:
        for _, name in matching(walk, pattern):
            if len(found) >= limit:
                return found, False
            found.append(name)
    finally:
        os.close(walk.root)
    return found, not walk.bounds


def start(root: int, path: bytes) -> Walk:
    """A walk below a folder of the root."""
    try:
        folder = open_beneath(root, path, FOLDER)
    except OSError as error:
        raise refusal(error) from None
    prefix = b"/".join(part for part in path.split(b"/") if part not in (b"", b"."))
    return Walk(folder, MAX_ENTRIES, prefix)


def matching(walk: Walk, pattern: bytes) -> "Iterator[tuple[int, bytes]]":
    """Open folder and path of each regular file that a glob matches, in byte order of folders."""
    glob = Glob(pattern)
    states = [glob.start]
    for item in walk:
        if item.kind not in ("file", "dir"):
            continue
        del states[item.depth + 1 :]
        following = glob.step(states[item.depth], item.name)
        if item.kind == "file":
            if glob.accepts(following):
                yield item.folder, item.path
        elif not following or item.name in STORES:
            walk.skip()
        else:
            states.append(following)


def search_text(
    root: int, pattern: bytes, path: bytes, *, regex: bool, glob: bytes, limit: int
) -> "list[tuple[bytes, int, bytes]]":
    """Path, number and beginning of lines that hold a text or match a regular expression.

    ``path`` may be a file. Files with a NUL near the beginning are taken for binary and left out.
    """
    lines = regex_lines(pattern) if regex else literal_lines(pattern)
    matches = []  # type: list[tuple[bytes, int, bytes]]
    for name, data in texts(root, path, glob):
        for number, line in lines(data):
            matches.append((name, number, cut(line)))
            if len(matches) >= limit:
                return matches
    return matches


def texts(root: int, path: bytes, glob: bytes) -> "Iterator[tuple[bytes, bytes]]":
    """Path and content of the text files below a folder, or of one file."""
    try:
        walk = start(root, path)
    except Refusal as refused:
        if refused.code != "not-a-folder":
            raise
        from runners.supervisor.files import open_regular

        descriptor, _ = open_regular(root, path)
        yield path, content(descriptor)
        return
    try:
        for folder, name in matching(walk, glob):
            try:
                descriptor = os.open(name.rpartition(b"/")[2], READ, dir_fd=folder)
            except OSError:  # gone, held or not ours to read: nothing to show
                continue
            yield name, content(descriptor)
    finally:
        os.close(walk.root)


def content(descriptor: int) -> bytes:
    """The beginning of an open file, which is closed; nothing when it is binary or no file."""
    import stat

    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        data = os.read(descriptor, 8192)
        if b"\0" in data:
            return b""
        parts = [data]
        size = len(data)
        while data and size < MAX_BYTES:
            data = os.read(descriptor, 1 << 20)
            parts.append(data)
            size += len(data)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def literal_lines(pattern: bytes) -> "Callable[[bytes], Iterator[tuple[int, bytes]]]":
    """Lines that hold a text; each line once."""
    if not pattern or b"\n" in pattern:
        raise Refusal("name", b"", "the text to search for is empty or holds a line end")

    def lines(data: bytes) -> "Iterator[tuple[int, bytes]]":
        number, counted, at = 1, 0, data.find(pattern)
        while at >= 0:
            first = data.rfind(b"\n", 0, at) + 1
            last = data.find(b"\n", at)
            number += data.count(b"\n", counted, first)
            counted = first
            yield number, data[first:] if last < 0 else data[first:last]
            at = -1 if last < 0 else data.find(pattern, last)

    return lines


def regex_lines(pattern: bytes) -> "Callable[[bytes], Iterator[tuple[int, bytes]]]":
    """Lines that match a regular expression of Python, searched as text."""
    import re

    try:
        search = re.compile(pattern.decode("utf-8", "surrogateescape")).search
    except (re.error, OverflowError, RecursionError) as error:
        raise Refusal("name", b"", "this is not a regular expression: %s" % error) from None

    def lines(data: bytes) -> "Iterator[tuple[int, bytes]]":
        for number, line in enumerate(data.split(b"\n"), 1):
            if search(line.decode("utf-8", "surrogateescape")):
                yield number, line

    return lines


def cut(line: bytes) -> bytes:
    """The first characters of a line, its carriage return dropped."""
    text = line.rstrip(b"\r")
    if len(text) <= MAX_TEXT:
        return text
    start = text[: MAX_TEXT * 4].decode("utf-8", "surrogateescape")[:MAX_TEXT]
    return start.encode("utf-8", "surrogateescape")


def glob_names(root: int, pattern: bytes, cwd: bytes, limit: int) -> "list[bytes]":
    """What a shell glob stands for: relative to ``cwd``, sorted, none hidden, none outside."""
    if pattern.startswith(b"/"):
        raise Refusal("path-escape", b"", "the pattern is not relative")
    parts = [part for part in pattern.split(b"/") if part]
    only_folders = pattern.endswith(b"/")
    found = [b""]
    budget = MAX_ENTRIES
    for index, part in enumerate(parts):
        wanted = only_folders or index + 1 < len(parts)
        following = []  # type: list[bytes]
        for prefix in found:
            names, budget = expand(
                root, os.path.join(cwd, prefix), part, budget, only_folders=wanted
            )
            following.extend(prefix + name + (b"/" if wanted else b"") for name in names)
        found = sorted(following)
        if len(found) > limit:
            raise Refusal("too-large", b"", "the pattern stands for more than %d names" % limit)
    return found


def expand(
    root: int, folder: bytes, part: bytes, budget: int, *, only_folders: bool
) -> "tuple[list[bytes], int]":
    """The names in a folder that one part of a shell glob stands for, and the budget left."""
    try:
        descriptor = open_beneath(root, folder, FOLDER)
    except OSError:
        return [], budget
    test = matcher(part)
    names = []
    try:
        if not any(sign in part for sign in b"*?["):
            names = [part] if exists(descriptor, part) else []
        else:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    budget -= 1
                    if budget < 0:
                        raise Refusal("too-large", b"", "the folders of the pattern hold too much")
                    if not entry.name.startswith(".") and test(entry.name):
                        names.append(os.fsencode(entry.name))
    except OSError as error:
        raise refusal(error) from None
    finally:
        os.close(descriptor)
    if only_folders or part == b"..":
        names = [name for name in names if is_folder(root, os.path.join(folder, name))]
    return names, budget


def exists(folder: int, name: bytes) -> bool:
    """Whether a name is there, be it a dangling link."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def is_folder(root: int, path: bytes) -> bool:
    """Whether a path below the root is a folder, or a link to one inside."""
    try:
        os.close(open_beneath(root, path, FOLDER))
    except OSError:
        return False
    return True
