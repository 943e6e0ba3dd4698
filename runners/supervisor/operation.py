"""The operations beside running programs: which module answers which, and how answers look."""

import posix as os
import sys

from runners.supervisor import frames
from runners.supervisor.box import Box
from runners.supervisor.fault import Refusal, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:  # imports for annotations cost milliseconds at start
    from typing import Any

__all__ = ["OPERATIONS", "PRELOAD", "operate", "preload"]

FILES = "fileops"
OPERATIONS = {
    "read_file": FILES,
    "write_file": FILES,
    "discard": FILES,
    "list_dir": FILES,
    "find_files": FILES,
    "search_text": FILES,
    "glob": FILES,
    "put_tree": FILES,
    "get_tree": FILES,
    "resolve": "lookup",
    "check": "lookup",
}
"""Each is ``function(request, box, inp, out) -> dict``: it reads input from ``inp``, writes long
output to ``out``, may block (its slot is killed at the deadline), and raises Refusal."""

PRELOAD = ("hashlib", "heapq", "os", "re", "resource", "stat")
"""Standard modules that operations import when first used."""

VALUE_MAX = 32 * 1024


def preload() -> None:
    """Import everything now, where the interpreter's files will be out of reach later."""
    for name in PRELOAD:
        __import__(name)
    for name in set(OPERATIONS.values()):
        __import__("runners.supervisor." + name)
    for name in ("files", "search", "walk", "wildcard", "tar", "pack", "unpack"):
        __import__("runners.supervisor." + name)


def operate(name: str, request: "dict[str, Any]", box: Box, fds: "list[int]") -> "tuple[Any, ...]":
    """Do one operation in a slot: ("value", JSON) or ("fault", code, path, message)."""
    module = "runners.supervisor." + OPERATIONS[name]
    inp = fds[0] if request["feed"] else -1
    try:
        __import__(module)
        value = getattr(sys.modules[module], name)(request, box, inp, fds[-1])
        text = frames.json_text(value)
    except Refusal as error:
        return _fault(error)
    except OSError as error:
        return _fault(refusal(error))
    except MemoryError:
        return _fault(Refusal("too-large", b"", "it does not fit into the memory limit"))
    except Exception as error:  # a mistake of ours spoils its own call only
        return _fault(Refusal("other", b"", "%s: %s" % (type(error).__name__, error)))
    finally:
        for fd in fds:
            os.close(fd)
    if len(text) > VALUE_MAX:
        return _fault(Refusal("too-large", b"", "the answer is too long"))
    return "value", text


def _fault(error: Refusal) -> "tuple[Any, ...]":
    return "fault", error.code, bytes(error.path), str(error.message)[:2000]
