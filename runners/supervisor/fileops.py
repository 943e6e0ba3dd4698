"""The file operations as calls: what the host asks, bound to functions on the root's descriptor.

Each takes the request, the box, and descriptors for input and output that block; it returns a
small answer. Long results leave by ``out``.
"""

import os

from runners.supervisor.fault import Refusal, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Place(Protocol):
        """A root of the box."""

        fd: int

    class Box(Protocol):
        """What the supervisor knows of its box."""

        roots: dict[str, Place]

    Request = dict[str, Any]
    Operation = Callable[[Request, Box, int, int], Request]

__all__ = [
    "find_files",
    "get_tree",
    "glob",
    "list_dir",
    "put_tree",
    "read_file",
    "search_text",
    "write_file",
]

CHUNK = 1 << 18
MAX_CONTENT = 64 << 20  # of one written file: it is held in memory
MAX_ENTRIES = 100000
MAX_TREE = 4 << 30


def named(value: "str | bytes") -> bytes:
    """A path as the file system has it."""
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")


def operation(function: "Operation") -> "Operation":
    """Turn what a program can cause into a Refusal that names the path of the request."""

    def call(request: "Request", box: "Box", inp: int, out: int) -> "Request":
        path = named(request.get("path", b"."))
        try:
            return function(request, box, inp, out)
        except Refusal as refused:
            refused.path = refused.path or path
            raise
        except OSError as error:
            raise refusal(error, path) from None

    call.__doc__ = function.__doc__
    return call


def root_of(request: "Request", box: "Box") -> int:
    """The descriptor of the root that a request names."""
    return box.roots[request["root"]].fd


def send(out: int, value: object) -> None:
    """Write a JSON text."""
    from runners.supervisor.files import write_all
    from runners.supervisor.frames import json_text

    write_all(out, json_text(value).encode("ascii"))


@operation
def read_file(request: "Request", box: "Box", _inp: int, out: int) -> "Request":
    """Up to ``limit`` bytes of a regular file; nothing larger than a chunk is held."""
    from runners.supervisor import files

    offset = request["offset"]
    descriptor, found = files.open_regular(root_of(request, box), named(request["path"]))
    try:
        left, at = request["limit"], offset
        while left > 0:
            data = os.pread(descriptor, min(left, CHUNK), at)
            if not data:
                break
            files.write_all(out, data)
            at += len(data)
            left -= len(data)
    finally:
        os.close(descriptor)
    return {"offset": offset, "size": found.st_size, "mode": found.st_mode & 0o7777}


@operation
def write_file(request: "Request", box: "Box", inp: int, _out: int) -> "Request":
    """Write a file whole from the input."""
    from runners.supervisor import files

    data = bytearray()
    while True:
        part = os.read(inp, CHUNK)
        if not part:
            break
        data += part
        if len(data) > MAX_CONTENT:
            raise Refusal("too-large", b"", "one write takes at most %d bytes" % MAX_CONTENT)
    size, created = files.write_file(
        root_of(request, box),
        named(request["path"]),
        bytes(data),
        request.get("mode"),
        request.get("expect"),
        named(request["temporary"]),
    )
    return {"size": size, "created": created}


@operation
def discard(request: "Request", box: "Box", _inp: int, _out: int) -> "Request":
    """Remove what a write that was ended left behind."""
    from runners.supervisor import files

    files.discard(root_of(request, box), named(request["path"]), named(request["temporary"]))
    return {}


@operation
def list_dir(request: "Request", box: "Box", _inp: int, out: int) -> "Request":
    """Names of a folder: ``[[name, kind, size, mode], ...]``."""
    from runners.supervisor import files

    entries, total = files.list_dir(root_of(request, box), named(request["path"]), request["limit"])
    send(out, entries)
    return {"total": total}


@operation
def find_files(request: "Request", box: "Box", _inp: int, out: int) -> "Request":
    """Paths that a glob matches: ``[path, ...]``."""
    from runners.supervisor import search

    found, complete = search.find_files(
        root_of(request, box),
        named(request["pattern"]),
        named(request["path"]),
        request["limit"],
    )
    send(out, found)
    return {"complete": complete}


@operation
def search_text(request: "Request", box: "Box", _inp: int, out: int) -> "Request":
    """Lines that match: ``[[path, line, text], ...]``."""
    from runners.supervisor import search

    found = search.search_text(
        root_of(request, box),
        named(request["pattern"]),
        named(request["path"]),
        regex=request["regex"],
        glob=named(request["glob"]),
        limit=request["limit"],
    )
    send(out, found)
    return {"complete": len(found) < request["limit"]}


@operation
def glob(request: "Request", box: "Box", _inp: int, out: int) -> "Request":
    """What a shell glob stands for: ``[name, ...]``."""
    from runners.supervisor import search

    found = search.glob_names(
        root_of(request, box),
        named(request["pattern"]),
        named(request["cwd"]),
        request["limit"],
    )
    send(out, found)
    return {}


@operation
def put_tree(request: "Request", box: "Box", inp: int, _out: int) -> "Request":
    """Unpack the archive that comes in."""
    from runners.supervisor.unpack import unpack

    entries, size = unpack(
        root_of(request, box),
        lambda count: os.read(inp, count),
        request.get("limit", MAX_TREE),
        request.get("entries", MAX_ENTRIES),
        umask=0o022,  # start.py sets it
    )
    return {"files": entries, "bytes": size}


@operation
def get_tree(request: "Request", box: "Box", _inp: int, out: int) -> "Request":
    """Pack a root into an archive that goes out."""
    from runners.supervisor import files
    from runners.supervisor.pack import pack

    entries, size = pack(
        root_of(request, box),
        lambda data: files.write_all(out, data),
        request.get("limit", MAX_TREE),
        request.get("entries", MAX_ENTRIES),
    )
    return {"files": entries, "bytes": size}
