"""A project's Python packages: wheels chosen for the image's interpreter, as a tree to lay over it.

Wheels only: building a source distribution would run its code on the operator's machine, with
the operator's rights. pip runs on the host, so that its own configuration (mirrors, certificates,
constraints) holds and none of it gets into the image.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from sandbox_images.errors import ImageError, ImageNameError
from sandbox_images.program import run_program

__all__ = ["installed", "overlay_wheels", "read_requirements"]

ELSEWHERE = re.compile(r"^\s*(-r|-c|-e|--requirement|--constraint|--editable|\.|/|file:)")
GLIBC_MINORS = (5, 12, 17, 24, 27, 28, 31, 34, 35, 36)
SHEBANG = re.compile(rb"\A#!.*python.*\n")


def read_requirements(path: Path) -> str:
    """A requirements file that stands for itself, so that its text is its identity."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ImageNameError(f"{path} cannot be read as a requirements file: {error}") from error
    for number, line in enumerate(text.splitlines(), 1):
        if ELSEWHERE.match(line):
            raise ImageNameError(
                f"{path}:{number}: {line.strip()!r} points to another file or folder; write out"
                " the packages themselves (pip-compile and pip freeze do)"
            )
    return text


def overlay_wheels(
    requirements: Path, version: str, folder: Path, progress: Callable[[str], object]
) -> Path:
    """Download the wheels and unpack them as ``folder/overlay``; hashes in the file are checked."""
    pip, chosen = pip_argv(), target_options(version)
    wheels = folder / "wheels"
    progress(f"downloading the wheels of {requirements.name}")
    download = [*pip, "download", "--dest", str(wheels), *chosen, "-r", str(requirements)]
    try:
        run_program(download, env=os.environ, progress=progress)
    except ImageError as error:
        raise ImageError(
            f"{error}\n(only wheels for Python {version} can be used: a source distribution"
            " would run its code on this machine while it is built)"
        ) from error
    site = folder / "overlay/usr/local/lib" / f"python{version}" / "dist-packages"
    site.mkdir(parents=True)
    files = sorted(str(path) for path in wheels.glob("*.whl"))
    if files:
        install = [*pip, "install", "--no-index", "--no-deps", "--no-compile", "--target"]
        run_program([*install, str(site), *chosen, *files], env=os.environ, progress=progress)
    move_scripts(site, folder / "overlay/usr/local/bin")
    shutil.rmtree(wheels)
    return folder / "overlay"


def installed(overlay: Path) -> tuple[str, ...]:
    """What an overlay holds, as in ("attrs==23.1.0",)."""
    found = []
    for path in overlay.glob("usr/local/lib/python*/dist-packages/*.dist-info"):
        name, _, version = path.name.removesuffix(".dist-info").rpartition("-")
        found.append(f"{name}=={version}")
    return tuple(sorted(found))


def pip_argv() -> list[str]:
    """Pip of our own interpreter, else the first on PATH."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    for name in ("pip3", "pip"):
        found = shutil.which(name)
        if found is not None:
            return [found]
    raise ImageError(
        "pip is needed to fetch packages (python3 -m ensurepip, or apt-get install python3-pip)"
    )


def target_options(version: str) -> list[str]:
    """Choose wheels for the image's interpreter, not for the host's."""
    machine = platform.machine()
    options = ["--only-binary", ":all:", "--python-version", version, "--implementation", "cp"]
    options += ["--abi", "cp" + version.replace(".", ""), "--abi", "abi3", "--abi", "none"]
    names = [f"manylinux_2_{minor}_{machine}" for minor in reversed(GLIBC_MINORS)]
    for name in (*names, f"manylinux2014_{machine}", f"linux_{machine}", "any"):
        options += ["--platform", name]
    return options


def move_scripts(site: Path, folder: Path) -> None:
    """Put console scripts on the fixed PATH, started by the image's own interpreter."""
    scripts = site / "bin"
    if not scripts.is_dir():
        return
    folder.mkdir(parents=True)
    for script in scripts.iterdir():
        data = script.read_bytes()
        target = folder / script.name
        target.write_bytes(SHEBANG.sub(b"#!/usr/bin/python3\n", data, count=1))
        target.chmod(0o755)
    shutil.rmtree(scripts)
