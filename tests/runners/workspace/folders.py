"""Folders made from plain data and told as plain data."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

Spec = dict[str, bytes | tuple[str, str] | tuple[bytes, int]]
"""Path -> content, (content, mode) or ("link", target)."""


def make(folder: Path, spec: Spec) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for path, what in spec.items():
        name = os.path.join(os.fsencode(folder), os.fsencode(path))
        os.makedirs(os.path.dirname(name), exist_ok=True)
        if isinstance(what, tuple) and what[0] == "link":
            os.symlink(os.fsencode(str(what[1])), name)
            continue
        content, mode = what if isinstance(what, tuple) else (what, 0o644)
        assert isinstance(content, bytes)
        assert isinstance(mode, int)
        with open(name, "wb") as file:
            file.write(content)
        os.chmod(name, mode)
    return folder


def tell(folder: Path) -> Spec:
    """What version control would see in a folder."""
    found: Spec = {}
    top = os.fsencode(folder)
    for here, folders, files in os.walk(top):
        for name in [*folders, *files]:
            full = os.path.join(here, name)
            path = os.fsdecode(os.path.relpath(full, top))
            if os.path.islink(full):
                found[path] = ("link", os.fsdecode(os.readlink(full)))
            elif not os.path.isdir(full):
                with open(full, "rb") as file:
                    data = file.read()
                runs = stat.S_IMODE(os.stat(full).st_mode) & 0o100
                found[path] = (data, 0o755) if runs else data
    return found


def git_apply(folder: Path, patch: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run git apply in a folder that no repository holds."""
    return subprocess.run(
        ["git", "apply", "-p1", "--whitespace=nowarn", *arguments, "-"],
        cwd=folder,
        input=patch,
        capture_output=True,
        check=False,
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CEILING_DIRECTORIES": str(folder.parent),
        },
    )
