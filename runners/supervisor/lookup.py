"""Finding programs, and judging path operands on what they really are."""

import errno
import os

from runners.supervisor import frames, path
from runners.supervisor.box import Box

TYPE_CHECKING = False
if TYPE_CHECKING:  # imports for annotations cost milliseconds at start
    from typing import Any

__all__ = ["check", "resolve"]

REGULAR, FOLDER = 0o100000, 0o040000


def resolve(request: "dict[str, Any]", _box: Box, _inp: int, _out: int) -> "dict[str, Any]":
    """Find a bare name on a search path: {"path": real path, "found": as found} or {}."""
    name = os.fsencode(request["name"])
    if not name or b"/" in name or name in (b".", b".."):
        return {}
    for folder in request["search"]:
        found = os.fsencode(folder).rstrip(b"/") + b"/" + name
        real = os.path.realpath(found)
        try:
            mode = os.stat(real).st_mode
        except (OSError, ValueError):
            continue
        if mode & 0o170000 == REGULAR and os.access(real, os.X_OK):
            return {"path": real, "found": found}
    return {}


def check(request: "dict[str, Any]", box: Box, _inp: int, out: int) -> "dict[str, Any]":
    """Judge paths of (text, kind, writable, root); writes ``[[index, reason, message], ...]``."""
    cwd = os.fsencode(request["cwd"])
    protected = request["protect"]
    faults = []
    for index, (text, kind, writable, root) in enumerate(request["checks"]):
        name = os.fsencode(text)
        fault = _outside(box, name, cwd, root) or _judge(box, name, cwd, kind)
        if not fault and writable:
            fault = _protected(box, name, cwd, protected)
        if fault:
            faults.append([index, fault[0], fault[1]])
    data = frames.json_text(faults).encode("ascii")
    while data:
        data = data[os.write(out, data) :]
    return {}


def _outside(box: Box, name: bytes, cwd: bytes, root: str) -> "tuple[str, str] | None":
    """Whether the path, as text, begins elsewhere than in its root."""
    try:
        found, _ = box.locate(name, cwd)
    except OSError as error:
        return _missing(error, "path")
    if found is not box.roots.get(root):
        return "path-escape", "it does not lie below the root %s" % root
    return None


def _judge(box: Box, name: bytes, cwd: bytes, kind: str) -> "tuple[str, str] | None":
    try:
        fd = box.open(name, cwd, os.O_PATH)
    except OSError as error:
        return _missing(error, kind)
    try:
        found = os.fstat(fd).st_mode & 0o170000
    finally:
        os.close(fd)
    if kind == "file" and found != REGULAR:
        return "value-type", "it is not a regular file"
    if kind == "dir" and found != FOLDER:
        return "value-type", "it is not a folder"
    if found not in (REGULAR, FOLDER):
        return "value-type", "it is a device, a pipe or a socket"
    return None


def _missing(error: OSError, kind: str) -> "tuple[str, str] | None":
    if error.errno == errno.EXDEV:
        return "path-escape", "it leads out of the workspace"
    if error.errno == errno.ELOOP:
        return "path-escape", "it is a loop of links"
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        if kind == "path":
            return None
        return "value-type", "there is no such %s" % ("file" if kind == "file" else "folder")
    return "path-escape", "it cannot be looked at: %s" % error.strerror


def _protected(box: Box, name: bytes, cwd: bytes, names: "list[str]") -> "tuple[str, str] | None":
    """Whether the real path runs through a protected name, at any depth."""
    real = _real(box, name, cwd)
    for guarded in names:
        if b"/" + os.fsencode(guarded).strip(b"/") + b"/" in b"/" + real + b"/":
            return "path-protected", "it is really %s" % real.decode("utf-8", "replace")
    return None


def _real(box: Box, name: bytes, cwd: bytes) -> bytes:
    """The real path relative to its root; of what does not exist, by its nearest folder."""
    root, rest = box.locate(name, cwd)
    parts = [part for part in rest.split(b"/") if part not in (b"", b".")]
    for count in range(len(parts), -1, -1):
        try:
            fd = path.open_beneath(root.fd, b"/".join(parts[:count]) or b".", os.O_PATH)
        except OSError:
            continue
        try:
            real = os.readlink(b"/proc/self/fd/%d" % fd)
        except OSError:
            real = os.path.realpath(root.path + b"/" + b"/".join(parts[:count]))
        finally:
            os.close(fd)
        top = os.path.realpath(root.path)
        return b"/".join([real[len(top) :].strip(b"/"), *parts[count:]]).strip(b"/")
    return rest
