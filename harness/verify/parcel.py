"""What travels into the box of a verification, and how it starts there.

Beside every source goes what this interpreter compiled it to: one of the same version in the box
takes that, since compiling is most of the work there; any other reads the source.
"""

from __future__ import annotations

import marshal
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from typing import Any

__all__ = ["ARGV", "parcel"]

BOX = Path(__file__).parent / "box"
PLUGIN = (
    "__init__.py",
    "plugin.py",
    "functions.py",
    "listen.py",
    "reporter.py",
    "source.py",
    "stamp.py",
    "witness.py",
)
"""The modules that are loaded into the test tool."""

BOOT = """\
import sys,marshal
magic,code,source,orders=marshal.load(sys.stdin.buffer)
same=magic==sys.modules['_frozen_importlib_external'].MAGIC_NUMBER
exec(marshal.loads(code)if same else source)
main(orders)
"""

ARGV = ("python3", "-I", "-S", "-c", BOOT)
"""Runs the parent of the tests, which comes in a parcel on standard input."""

UNCHECKED = (1).to_bytes(4, "little") + bytes(8)
"""In the head of a compiled module: it is taken without a look at its source."""


def parcel(orders: dict[str, Any]) -> bytes:
    """The parent of the tests and its orders, with the modules of its plugin."""
    source, code = program()
    return marshal.dumps((MAGIC_NUMBER, code, source, {**orders, "plugin": plugin()}), 2)


@cache
def program() -> tuple[bytes, bytes]:
    """The parent as source and compiled."""
    return (BOX / "watch.py").read_bytes(), compiled("watch.py")


@cache
def plugin() -> dict[str, bytes]:
    """The files of the plugin."""
    files = {}
    for name in PLUGIN:
        files[name] = (BOX / name).read_bytes()
        files[cache_from_source(name)] = MAGIC_NUMBER + UNCHECKED + compiled(name)
    return files


def compiled(name: str) -> bytes:
    """A module's code, out of the loader's cache where it is there."""
    return marshal.dumps(SourceFileLoader(name, str(BOX / name)).get_code(name))
