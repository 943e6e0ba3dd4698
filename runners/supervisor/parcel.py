"""The supervisor as bytes that travel to its box over standard input. Runs on the host only."""

from __future__ import annotations

import importlib.util
import marshal
from dataclasses import dataclass
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path

__all__ = ["Payload", "payload"]

PACKAGE = "runners.supervisor"
STAYS = ("__init__", "parcel")

BOOT = """\
import sys,marshal,posix
def read(n):
    b=b''
    while len(b)<n:
        c=posix.read(0,n-len(b))
        if not c:posix._exit(0)
        b+=c
    return b
magic,modules=marshal.loads(read(int(sys.argv[1])))
X=sys.modules['_frozen_importlib_external'];S=sys.modules['_frozen_importlib'].ModuleSpec
class Parcel:
    @staticmethod
    def find_spec(name,path=None,target=None):
        if name in modules:return S(name,Parcel,is_package=not modules[name])
    @staticmethod
    def create_module(spec):return None
    @staticmethod
    def exec_module(module):
        name=module.__name__
        if not modules[name]:return
        code,source=modules[name]
        if magic==X.MAGIC_NUMBER:code=marshal.loads(code)
        else:code=compile(source,name,'exec',1048576 if sys.version_info<(3,9) else 16777216,True,2)
        exec(code,module.__dict__)
sys.meta_path.insert(0,Parcel)
sys.dont_write_bytecode=True
from runners.supervisor.start import main
main()
"""
"""Reads the parcel and becomes its importer. Code compiled here is used where the box has the
same Python; elsewhere the sources are compiled when they are imported. The flag numbers are those
of ``from __future__ import annotations``, so that annotations may be newer than the box's
Python."""


@dataclass(frozen=True, slots=True)
class Payload:
    """What starts a supervisor: run ``argv(python)`` and give its standard input ``data``."""

    boot: str
    data: bytes

    def argv(self, python: str) -> list[str]:
        """The command line: isolated, without site, nothing but BOOT."""
        return [python, "-I", "-S", "-c", self.boot, str(len(self.data))]


@cache
def payload() -> Payload:
    """The supervisor of this installation."""
    modules: dict[str, tuple[bytes, bytes] | None] = {"runners": None, PACKAGE: None}
    for file in sorted(Path(__file__).parent.glob("*.py")):
        if file.stem in STAYS:
            continue
        name = f"{PACKAGE}.{file.stem}"
        loader = SourceFileLoader(name, str(file))  # its cache saves 100 ms of compiling
        modules[name] = (marshal.dumps(loader.get_code(name)), file.read_bytes())
    return Payload(BOOT, marshal.dumps((importlib.util.MAGIC_NUMBER, modules), 2))
