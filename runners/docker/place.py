"""Where the workspace is and who owns it: a fresh folder, or the operator's own (in place)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from runners.contract import SessionSpec
from runners.docker.endpoint import Endpoint
from runners.docker.spec import HOME, sizes_for
from runners.errors import WorkspaceError

__all__ = ["Place", "place_of"]

NEEDED = "bin boot dev etc lib lib32 lib64 logs proc sbin solution stockade sys tests usr"
SYSTEM = frozenset(NEEDED.split())
OTHERS = frozenset(["/tmp", "/home", "/var", HOME])  # noqa: S108 - paths in the box

FULL = 0.9
"""A workspace that fills more of its folder leaves too little room to work in."""


@dataclass(frozen=True, slots=True)
class Place:
    """The user of a box, and what its workspace is: memory, a host folder, or the engine's disk.

    Attributes:
        user: uid and gid.
        bind: the host folder to bind, if any.
        on_disk: the workspace does not fit into memory.
    """

    user: tuple[int, int]
    bind: str | None = None
    on_disk: bool = False


def place_of(endpoint: Endpoint, spec: SessionSpec, user: tuple[int, int]) -> Place:
    """Decide it; WorkspaceError says why a folder cannot be used in place (decision 21)."""
    check_path(spec.workspace)
    if spec.in_place is None:
        return Place(user, on_disk=spec.workspace_mib > sizes_for(spec.limits).workspace * FULL)
    folder = spec.in_place
    if not endpoint.local:
        raise WorkspaceError(
            f"the engine at {endpoint.url} is on another machine and does not see {folder}; "
            "leave --in-place out: the workspace is then copied in and a patch comes out"
        )
    real = folder.resolve()
    try:
        status = real.stat()
    except OSError as error:
        raise WorkspaceError(f"{folder} cannot be used in place: {error.strerror}") from error
    if not real.is_dir():
        raise WorkspaceError(f"{folder} is not a folder")
    if status.st_uid == 0:
        raise WorkspaceError(
            f"{folder} belongs to root, and no box runs as root; "
            "give it to a user (chown), or leave --in-place out"
        )
    for path in spec.protect:
        check_protected(real, path)
    return Place((status.st_uid, status.st_gid or status.st_uid), str(real))


def check_path(path: str) -> None:
    """A workspace may not hide what the box itself needs."""
    parts = PurePosixPath(path).parts
    plain = path[:1] == "/" != path[1:2] and str(PurePosixPath(path)) == path and ".." not in parts
    if not plain or "\0" in path or ":" in path or len(parts) < 2:
        raise WorkspaceError(
            f"the workspace path {path!r} is not a plain absolute path below / (as in /workspace)"
        )
    if parts[1] in SYSTEM or path in OTHERS:
        raise WorkspaceError(
            f"the workspace cannot be at {path!r}, which the box needs itself; "
            "choose another folder, as in /workspace"
        )


def check_protected(folder: Path, path: str) -> None:
    """A protected path must be there and be no link, or the mount would be somewhere else."""
    current = folder
    for part in Path(path).parts:
        current = current / part
        if part == ".." or current.is_symlink() or not current.exists():
            raise WorkspaceError(
                f"the protected path {path!r} of {folder} is missing or goes through a link, "
                "so it cannot be kept from changes in place"
            )
