"""The supervisor as bytes that travel to its box over standard input. Runs on the host only."""

from __future__ import annotations

import importlib.util
import marshal
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path

__all__ = ["Payload", "payload"]

PACKAGE = "runners.supervisor"
STAYS = ("__init__", "parcel")

BOOT = """\
import sys,marshal,posix
b=b''
n=int(sys.argv[1])
while len(b)<n:
    c=posix.read(0,n-len(b))
    if not c:posix._exit(0)
    b+=c
magic,unpack,*parcel=marshal.loads(b)
del b
same=magic==sys.modules['_frozen_importlib_external'].MAGIC_NUMBER
exec(marshal.loads(unpack[0])if same else unpack[1])
"""
"""Reads the parcel and has it unpack itself. As short as can be: the box compiles it at each start,
which takes longer a line than anything else there."""

UNPACK = """\
names,codes,modules=parcel
S=sys.modules['_frozen_importlib'].ModuleSpec
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
        if code and same:code=marshal.loads(code)
        else:code=compile(source,name,'exec',1048576 if sys.version_info<(3,9) else 16777216,True,2)
        exec(code,module.__dict__)
sys.meta_path.insert(0,Parcel)
sys.dont_write_bytecode=True
import runners.supervisor
if same:
    for name,code in zip(names,marshal.loads(codes)):
        if name not in sys.modules:
            module=sys.modules[name]=type(sys)(name)
            exec(code,module.__dict__)
del parcel,codes
from runners.supervisor.start import main
main()
"""
"""Becomes the importer of the parcel. Code compiled here is used where the box has the same Python:
what is needed at once is run in the order of its imports, which spares the cost of importing.
Elsewhere the sources are compiled when they are imported. The flag numbers are those of
``from __future__ import annotations``, so that annotations may be newer than the box's Python."""

IMPORTED = re.compile(r"^from runners\.supervisor(?:\.(\w+) import| import (.+)$)", re.MULTILINE)


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
    files = {
        f"{PACKAGE}.{file.stem}": file
        for file in sorted(Path(__file__).parent.glob("*.py"))
        if file.stem not in STAYS
    }
    sources = {name: file.read_bytes() for name, file in files.items()}
    # The loader's cache saves 100 ms of compiling.
    codes = {name: SourceFileLoader(name, str(files[name])).get_code(name) for name in files}
    first = in_order(f"{PACKAGE}.start", {name: text.decode() for name, text in sources.items()})
    modules: dict[str, tuple[bytes, bytes] | None] = {"runners": None, PACKAGE: None}
    for name, source in sources.items():
        modules[name] = (b"" if name in first else marshal.dumps(codes[name]), source)
    ready = marshal.dumps([codes[name] for name in first])
    unpack = marshal.dumps(compile(UNPACK, "parcel", "exec", dont_inherit=True)), UNPACK
    parcel = importlib.util.MAGIC_NUMBER, unpack, first, ready, modules
    return Payload(BOOT, marshal.dumps(parcel, 2))


def in_order(name: str, sources: Mapping[str, str]) -> list[str]:
    """A module and all that it imports of ours when it is imported itself, each after its own."""
    found: list[str] = []

    def visit(module: str) -> None:
        if module in found or module not in sources:
            return
        for one, several in IMPORTED.findall(sources[module]):
            for word in [one] if one else several.split(","):
                visit(f"{PACKAGE}.{word.split()[0]}")
        found.append(module)

    visit(name)
    return found
