"""Where the programs of a local box come from: the image's tree, or the host's own folders."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from runners.contract import Root, SessionSpec
from runners.errors import UnavailableError
from runners.layout import HOME, Layout, host_layout, tree_layout

if TYPE_CHECKING:
    from sandbox_images import Image

__all__ = ["SEARCH_PATH", "box_layout", "find_image", "host_python", "program_environment"]

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
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
        return tree_layout(
            image.tree,
            spec,
            python=image.python or "/usr/bin/python3",
            user=None if user == (image.uid, image.gid) else user,
            image=image.lock,
        )
    python, prefix = host_python(closed=dropped)
    return host_layout(spec, python=python, prefix=prefix, user=user)


@cache
def host_python(*, closed: bool) -> tuple[str, str | None]:
    """An interpreter of the host, and the folder to bind for it (None: below /usr).

    The system's own is preferred: it is bound anyway. Else the one that runs the harness, unless
    ``closed`` folders keep the box's user from it.
    """
    system = "/usr/bin/python3"
    if version_of(system) >= OLDEST_PYTHON:
        return system, None
    prefix = Path(sys.base_prefix).resolve()
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    if closed and not reachable(python):
        raise UnavailableError(
            f"{python} lies under a folder that only its owner may enter: build the image "
            "(`stockade images build python`) or install python3"
        )
    return str(python), str(prefix)


def version_of(python: str) -> tuple[int, ...]:
    """The version of an interpreter, () when there is none."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        done = subprocess.run(
            [python, "-I", "-S", "-c", code], capture_output=True, text=True, check=False, env={}
        )
        return tuple(int(word) for word in done.stdout.split())
    except (OSError, ValueError):
        return ()


def reachable(path: Path) -> bool:
    """Whether everybody may enter the folders above a path."""
    return all(folder.stat().st_mode & 0o001 for folder in path.parents)


def program_environment(
    spec: SessionSpec, roots: Mapping[Root, str], home: str = HOME
) -> tuple[tuple[str, str], ...]:
    """The base environment of programs (decision 14) and the session's own variables."""
    base = {"PATH": SEARCH_PATH, "HOME": home, "LANG": "C.UTF-8", "TMPDIR": roots["tmp"]}
    return tuple({**base, **dict(spec.env)}.items())
