"""All that a call writes, in files: for output that is larger than what is kept in memory."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Literal

__all__ = ["Spill", "Spilled"]

Stream = Literal["stdout", "stderr"]
STREAMS: tuple[Stream, Stream] = ("stdout", "stderr")


@dataclass(frozen=True, slots=True)
class Spilled:
    """One stream in a file.

    Attributes:
        path: the file.
        size: its bytes.
        total: bytes that the program wrote; more than ``size`` when the most was reached.
        sha256: of the file, hexadecimal.
    """

    path: Path
    size: int
    total: int
    sha256: str


class Spill:
    """An ``on_output`` that writes each stream into a file of a folder as it comes.

    Use it as a context around one call::

        with Spill(folder, most_mib=256) as spill:
            outcome = await session.run(pipeline, on_output=spill)
        spill.stdout.sha256

    A slow disk slows the program; memory does not grow. Beyond ``most_mib`` output is counted, not
    written. The files are new: one that is there already is a FileExistsError.
    """

    def __init__(self, folder: Path, *, most_mib: int) -> None:
        self._paths = {stream: folder / stream for stream in STREAMS}
        self._most = most_mib << 20
        self._files: dict[str, BinaryIO] = {}
        self._states = {stream: hashlib.sha256() for stream in STREAMS}
        self._sizes = dict.fromkeys(STREAMS, 0)
        self._totals = dict.fromkeys(STREAMS, 0)

    def __enter__(self) -> Spill:
        try:
            for stream in STREAMS:
                self._files[stream] = self._paths[stream].open("xb")
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    async def __call__(self, stream: Stream, data: bytes) -> None:
        """Take the next bytes of a stream."""
        self._totals[stream] += len(data)
        data = data[: self._most - self._sizes[stream]]
        if data:
            self._sizes[stream] += len(data)
            await asyncio.to_thread(self._write, stream, data)

    @property
    def stdout(self) -> Spilled:
        """Standard output so far."""
        return self._spilled("stdout")

    @property
    def stderr(self) -> Spilled:
        """Standard error so far."""
        return self._spilled("stderr")

    def _write(self, stream: Stream, data: bytes) -> None:
        self._files[stream].write(data)
        self._states[stream].update(data)

    def _close(self) -> None:
        while self._files:
            self._files.popitem()[1].close()

    def _spilled(self, stream: Stream) -> Spilled:
        digest = self._states[stream].hexdigest()
        return Spilled(self._paths[stream], self._sizes[stream], self._totals[stream], digest)
