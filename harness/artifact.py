"""Texts that were too long to show: kept whole beside the log."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from harness.result import Artifact

__all__ = ["ArtifactStore"]


class ArtifactStore:
    """A folder of texts, named by their own digest; readable by the owner alone.

    Args:
        folder: where they lie.
        clean: takes out of a text what must not be kept.
    """

    def __init__(self, folder: str | Path, clean: Callable[[str], str] | None = None) -> None:
        self.folder = Path(folder)
        self._clean = clean

    def keep(self, text: str) -> Artifact:
        """Store a text; the same text is stored once."""
        if self._clean is not None:
            text = self._clean(text)
        data = text.encode("utf-8", "surrogatepass")
        digest = sha256(data).hexdigest()
        identity = f"a-{digest[:16]}"
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = self.folder / f"{identity}.txt"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            descriptor = os.open(target, flags, 0o600)
        except FileExistsError:
            return Artifact(identity, len(data), f"sha256:{digest}")
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        return Artifact(identity, len(data), f"sha256:{digest}")

    def read(self, identity: str) -> str | None:
        """The text of an id, or None where there is none."""
        name = identity.removeprefix("a-")
        if not identity.startswith("a-") or not name.isalnum() or not name.isascii():
            return None
        try:
            data = (self.folder / f"{identity}.txt").read_bytes()
        except FileNotFoundError:
            return None
        return data.decode("utf-8", "surrogatepass")
