"""Stamps of types and modules that change with every assignment, and never back.

PYTEST_DONT_REWRITE. A function that is replaced while a test calls it, and puts itself back,
leaves nothing to be seen afterwards but these: the version tags which the interpreter keeps for
its own caches. They are read out of memory, so each kind is tried out first; where it does not
work as expected it is left out.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, List, Optional

TYPE_TAG = 384
"""Where a type of a 64-bit interpreter has its version tag (Python 3.8 to 3.13)."""

DICT_TAG = 24
"""Where a dict has one in the same versions."""

Read = Callable[[object], int]


class Stamps:
    """The stamps of some types and modules."""

    def __init__(self, things: Dict[str, Any]) -> None:
        readers = {True: reader("I", TYPE_TAG), False: reader("Q", DICT_TAG)}
        working = {
            kind: read for kind, read in readers.items() if read and works(read, is_type=kind)
        }
        self.things: List[Any] = []
        for name, thing in things.items():
            is_type = isinstance(thing, type)
            read = working.get(is_type)
            if read is None:
                continue
            if not is_type:
                # The interpreter adds this by itself, where a warning points to a module.
                thing.setdefault("__warningregistry__", {})
            self.things.append((name, thing, read))

    def read(self) -> List[int]:
        """The stamps now."""
        return [read(thing) for _, thing, read in self.things]

    def changed(self, before: List[int]) -> List[str]:
        """The names of what was assigned to since."""
        now = self.read()
        return [self.things[at][0] for at in range(len(now)) if now[at] != before[at]]


def reader(kind: str, offset: int) -> Optional[Read]:
    """How to read a number that lies at an offset in an object, or None."""
    if sys.maxsize <= 1 << 32 or sys.implementation.name != "cpython":
        return None
    try:
        from _ctypes import _SimpleCData
    except ImportError:
        return None
    word = type("Word", (_SimpleCData,), {"_type_": kind})

    def read(thing: object) -> int:
        # An attribute that is looked up makes a type have a tag again.
        getattr(thing, "__stockade__", None)
        return int(word.from_address(id(thing) + offset).value)  # type: ignore[attr-defined]

    return read


def works(read: Read, *, is_type: bool) -> bool:
    """Whether the number stays while nothing is assigned, and never comes back after that."""
    kind = type("Kind", (), {"field": 1})
    thing: Any = kind if is_type else {"field": 1}
    seen = [read(thing), read(thing)]
    for value in (2, 1):
        if is_type:
            kind.field = value  # type: ignore[attr-defined]
        else:
            thing["field"] = value
        seen.append(read(thing))
    return seen[0] == seen[1] and len(set(seen)) == 3 and 0 not in seen
