"""Byte-code of a tree's modules, made by the tree's own interpreter without entering the tree."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

__all__ = ["compile_modules"]


def compile_modules(tree: Path, folders: Sequence[Path]) -> None:
    """Compile modules below some folders of a tree, as far as its interpreter runs here.

    A tree is read-only in a box: without this every start would compile them again. The
    interpreter is started through the tree's own loader and libraries, so that no root and no
    chroot is needed. Failing is no error: it costs time later, not correctness.
    """
    pythons = sorted((tree / "usr/bin").glob("python3.*[0-9]"))
    loaders = [*(tree / "usr/lib64").glob("ld-linux*"), *(tree / "usr/lib").glob("ld-linux*")]
    libraries = sorted((tree / "usr/lib").glob("*-linux-gnu*"))
    if not pythons or not loaders or not libraries:
        return
    argv = [str(loaders[0]), "--library-path", str(libraries[0]), str(pythons[0]), "-S"]
    argv += ["-m", "compileall", "-q", "-s", str(tree), "-p", "/"]
    subprocess.run(
        [*argv, *(str(folder) for folder in folders if folder.is_dir())],
        env={"PYTHONHOME": str(tree / "usr"), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=False,
    )
