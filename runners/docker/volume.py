"""A workspace on the engine's disk: a labelled volume that belongs to the user of its box."""

from __future__ import annotations

import asyncio
import io
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from runners.docker.engine import Engine
from runners.docker.fault import EngineFaultError
from runners.docker.labels import Labels
from runners.docker.spec import ContainerOptions, container_spec

__all__ = ["make_volume", "remove_volume", "volume_is_leftover"]

MOUNT = "stockade-volume"


async def make_volume(engine: Engine, options: ContainerOptions, name: str) -> None:
    """Make the volume of a session, empty and owned by its user.

    A fresh volume is root's. The engine changes that while it unpacks an archive into a container
    that is only created; its root must be writable for that, and no program ever runs in it.
    """
    labels = dict(options.labels)
    await engine.call(lambda api: api.create_volume(name, labels=labels))
    spec = container_spec(replace(options, on_disk="", command=["fill"]))
    spec["HostConfig"]["ReadonlyRootfs"] = False
    spec["HostConfig"]["Mounts"] = [{"Type": "volume", "Source": name, "Target": f"/{MOUNT}"}]
    filler = f"{name}-fill"
    try:
        container, _ = await engine.create(spec, filler)
        await engine.put(container, "/", owned_folder(MOUNT, options.user))
    finally:
        await asyncio.shield(engine.remove(filler))


async def remove_volume(engine: Engine, name: str) -> bool:
    """Remove a volume; False when something still uses it, or it is gone already."""
    try:
        await engine.call(lambda api: api.remove_volume(name))
    except EngineFaultError as fault:
        if fault.status in (404, 409):
            return False
        raise
    return True


def volume_is_leftover(volume: Mapping[str, Any]) -> bool:
    """Whether a volume of the engine's list is ours and its owner is dead."""
    labels = Labels.read(volume.get("Labels") or {})
    return labels is not None and labels.owner.state() == "dead"


def owned_folder(name: str, user: tuple[int, int]) -> bytes:
    """An archive with one folder."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, 0o700
    entry.uid, entry.gid = user
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.addfile(entry)
    return buffer.getvalue()
