"""A small image from this machine's own files: Python, a shell, tools, and their libraries.

No registry is asked and no image need have been built before.
"""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

PYTHON = Path("/usr/bin/python3")
TOOLS = """
    bash sh cat chmod cp dd echo env false head id kill ln ls mkdir mount rm setsid sleep stat
    test touch true umount uname yes
"""
LEFT_OUT = ("test", "idlelib", "lib2to3", "ensurepip", "tkinter", "__pycache__", "site-packages")


def standard_library() -> Path:
    asked = subprocess.run(
        [PYTHON, "-I", "-S", "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return Path(asked.stdout.strip())


def libraries(files: Iterable[Path]) -> set[Path]:
    """The shared libraries and loaders of programs."""
    told = subprocess.run(["ldd", *files], capture_output=True, text=True, check=False).stdout
    return {Path(path) for path in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", told, re.MULTILINE)}


def files(*, python: bool) -> Iterator[Path]:
    programs = [Path("/usr/bin") / tool for tool in TOOLS.split()]
    if python:
        library = standard_library()
        programs.append(PYTHON)
        programs += sorted((library / "lib-dynload").glob("*.so"))
        for path in sorted(library.rglob("*.py")):
            if not any(part in LEFT_OUT for part in path.relative_to(library).parts):
                yield path
    yield from programs
    yield from libraries(programs)


def machine_tar(*, python: bool = True) -> bytes:
    """The root file system as a tar archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, target in (
            ("bin", "usr/bin"),
            ("sbin", "usr/sbin"),
            ("lib", "usr/lib"),
            ("lib64", "usr/lib64"),
        ):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            tar.addfile(link)
        for name in (
            "etc",
            "home",
            "proc",
            "sys",
            "dev",
            "tmp",
            "workspace",
            "tests",
            "logs",
            "solution",
        ):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
        for path in dict.fromkeys(files(python=python)):
            real = path.resolve()
            name = str(path.parent.resolve() / path.name)[1:]
            tar.add(real, name, recursive=False)
    return buffer.getvalue()
