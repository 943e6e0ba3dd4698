"""Where the programs of a local box come from: the image's tree, or the host's own folders."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from runners.contract import Root, SessionSpec
from runners.errors import UnavailableError
from runners.layout import HOME, Layout, host_layout, tree_layout

if TYPE_CHECKING:
    from sandbox_images import Image

__all__ = [
    "SEARCH_PATH",
    "SYSTEM_PYTHON",
    "box_layout",
    "find_image",
    "host_python",
    "program_environment",
    "version_of",
]

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SYSTEM_PYTHON = "/usr/bin/python3"
OLDEST_PYTHON = (3, 8)


def find_image(name: str) -> Image | None:
    """The image with a tree; None stands for the host's folders (decision 1).

    Only the image that everybody has by default is replaced by the host's folders; another name
    that is not built is the operator's mistake.
    """
    import sandbox_images

    image = sandbox_images.find(name, engine=False)
    if image is not None and image.tree is not None:
        return image
    if name in ("python", "host"):
        return None
    raise UnavailableError(f"image {name!r} has no tree here: run `stockade images build {name}`")


def box_layout(spec: SessionSpec, user: tuple[int, int], *, dropped: bool) -> Layout:
    """The layout of a session's root folder.

    Args:
        spec: the session.
        user: uid and gid as seen in the box.
        dropped: the box starts as another user than the harness, so that folders under a closed
            home are out of its reach (decision 33).
    """
    image = find_image(spec.image)
    if image is not None and image.tree is not None:
        layout = tree_layout(
            image.tree,
            spec,
            python=image.python or "/usr/bin/python3",
            user=None if user == (image.uid, image.gid) else user,
            image=image.lock,
        )
        return replace(layout, version=image.python_version)
    python, prefix = host_python(closed=dropped)
    layout = host_layout(spec, python=python, prefix=prefix, user=user)
    return replace(layout, version=version_of(python))


@cache
def host_python(*, closed: bool) -> tuple[str, str | None]:
    """An interpreter of the host, and the folder to bind for it (None: below /usr).

    The system's own is preferred: it is bound anyway. Else the one that runs the harness, unless
    ``closed`` folders keep the box's user from it.
    """
    if numbers(version_of(SYSTEM_PYTHON)) >= OLDEST_PYTHON:
        return SYSTEM_PYTHON, None
    prefix = Path(sys.base_prefix).resolve()
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    if closed and not reachable(python):
        raise UnavailableError(
            f"{python} lies under a folder that only its owner may enter: build the image "
            "(`stockade images build python`) or install python3"
        )
    return str(python), str(prefix)


@cache
def version_of(python: str) -> str:
    """The version of an interpreter, as in "3.11.2"; "" when there is none."""
    code = "import sys; print('{}.{}.{}'.format(*sys.version_info))"
    try:
        done = subprocess.run(
            [python, "-I", "-S", "-c", code], capture_output=True, text=True, check=False, env={}
        )
    except OSError:
        return ""
    return done.stdout.strip()


def numbers(version: str) -> tuple[int, ...]:
    """A version as numbers, so that 3.10 is later than 3.8."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def reachable(path: Path) -> bool:
    """Whether everybody may enter the folders above a path."""
    return all(folder.stat().st_mode & 0o001 for folder in path.parents)


def program_environment(
    spec: SessionSpec, roots: Mapping[Root, str], home: str = HOME
) -> tuple[tuple[str, str], ...]:
    """The base environment of programs (decision 14) and the session's own variables."""
    base = {"PATH": SEARCH_PATH, "HOME": home, "LANG": "C.UTF-8", "TMPDIR": roots["tmp"]}
    return tuple({**base, **dict(spec.env)}.items())
