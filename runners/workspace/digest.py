"""One digest of everything in a folder, to prove that it was not touched."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from runners.supervisor.walk import Walk
from runners.workspace.below import digest_at
from runners.workspace.name import to_text
from runners.workspace.scan import open_source

__all__ = ["digest"]

MAX_ENTRIES = 10_000_000


def digest(folder: Path) -> str:
    """The sha256 of paths, types, modes, contents and link targets below a folder, as hex.

    Nothing is left out; times do not count. What cannot be read counts by its mode and size.
    """
    state = hashlib.sha256()
    root = open_source(folder)
    try:
        walk = Walk(root, MAX_ENTRIES)
        for found in walk:
            status = os.stat(found.name, dir_fd=found.folder, follow_symlinks=False)
            text = b""
            if found.kind == "link":
                text = os.readlink(found.name, dir_fd=found.folder)
            elif found.kind == "file":
                try:
                    text = digest_at(found.folder, to_text(found.name)).encode()
                except OSError:
                    text = b"unreadable %d" % status.st_size
            state.update(b"%s\0%o\0%s\0" % (found.path, status.st_mode, text))
        for path, reason in walk.bounds:
            state.update(b"%s\0%s\0" % (path, reason.encode()))
    finally:
        os.close(root)
    return state.hexdigest()
