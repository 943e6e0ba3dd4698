"""A session's workspace as a plain folder: put_tree and get_tree run the box's own code on it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from runners.supervisor.pack import pack
from runners.supervisor.unpack import unpack


class FolderSession:
    """Enough of a Session for copying: what runs in a slot runs here, on the same files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def put_tree(self, tar: Path, *, root: str = "workspace") -> None:
        await asyncio.to_thread(self.put, tar)

    def put(self, tar: Path) -> None:
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with tar.open("rb") as file:
                unpack(descriptor, file.read, 1 << 30, 100_000)
        finally:
            os.close(descriptor)

    async def get_tree(self, tar: Path, *, root: str = "workspace", limit_mib: int = 512) -> None:
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with tar.open("wb") as file:
                pack(descriptor, file.write, limit_mib << 20, 100_000)
        finally:
            os.close(descriptor)
