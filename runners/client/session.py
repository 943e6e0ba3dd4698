"""The Session of every box: the contract, spoken over a Link."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from policies import PROTECTED, Isolation, Limits, PathCheck, Pipeline
from runners.client.exchange import Piece
from runners.client.keeper import Keeper
from runners.client.link import Link, Source
from runners.client.outcome import fault_of, outcome_of, value_of
from runners.client.pieces import pieces
from runners.client.request import run_request
from runners.client.wire import NUMBER_MAX, Head
from runners.contract import OnOutput, PathFault, Root
from runners.errors import ProtocolError, RunnerError, UnresolvedError, WorkspaceError
from runners.outcome import (
    Ending,
    Entry,
    Fault,
    FileData,
    Found,
    Listing,
    Match,
    Outcome,
    Program,
    Written,
)
from runners.setup import Setup

__all__ = ["SupervisedSession"]

T = TypeVar("T")

LOOK_SECONDS = 60.0  # what an operation may take where programs may take longer
TREE_SECONDS = 600.0
STAGES_MAX = 256
LIST_MAX = 64 << 20
ENTRIES_MAX = 100_000
SLOW = "it took longer than "
"""How a supervisor begins to say that an operation was ended at its deadline."""
ENTRY_BYTES = 8192
"""Heads and padding of one entry of an archive, generously."""


class SupervisedSession:
    """Implements ``runners.contract.Session``; its promises are kept in the box."""

    def __init__(
        self,
        link: Link,
        setup: Setup,
        *,
        id: str,  # noqa: A002 - the contract's word
        isolation: Isolation,
        image: Mapping[str, str],
        facts: Head,
        on_close: Callable[[], Awaitable[None]] | None,
    ) -> None:
        self._link = link
        self._setup = setup
        self._id = id
        self._isolation = isolation
        self._image = dict(image)
        self._on_close = on_close
        self._closing: asyncio.Task[None] | None = None
        self.facts: Mapping[str, Any] = facts
        """What the supervisor found in its box: landlock, openat2, counters, ..."""

    @property
    def id(self) -> str:
        """Unique on this machine."""
        return self._id

    @property
    def isolation(self) -> Isolation:
        """The level this session really has."""
        return self._isolation

    @property
    def paths(self) -> Mapping[Root, str]:
        """Absolute path in the box of each root."""
        return self._setup.roots

    @property
    def image(self) -> Mapping[str, str]:
        """What runs inside, for the lock."""
        return self._image

    @property
    def dropped_frames(self) -> int:
        """Frames of the box that belonged to no call."""
        return self._link.dropped

    async def ping(self) -> None:
        """A round trip through the supervisor."""
        await self._link.ping()

    # -- programs ----------------------------------------------------------------------------

    async def run(
        self,
        pipeline: Pipeline,
        *,
        cwd: str = ".",
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        programs: Sequence[str | None] = (),
        on_output: OnOutput | None = None,
    ) -> Outcome:
        """Run one pipeline to its end."""
        if len(pipeline.stages) > STAGES_MAX:
            codes = (126,) * len(pipeline.stages)
            reason = f"a pipeline may have at most {STAGES_MAX} stages"
            return Outcome(Ending.EXITED, 126, codes=codes, start_error=reason)
        held = self._setup.limits
        if limits is not None:
            limits = held = held.least(limits)
        keep = held.output_kib * 512
        request, source = run_request(
            pipeline,
            cwd=cwd,
            env=env or {},
            programs=programs,
            limits=limits,
            keep=keep if on_output is None else None,
        )
        kept = (Keeper(keep), Keeper(keep))

        def sink(piece: Piece) -> Awaitable[None] | None:
            data = bytes(piece.data)
            kept[piece.stream - 1].add(piece.at, data)
            if on_output is None:
                return None
            return on_output("stdout" if piece.stream == 1 else "stderr", data)

        return await self._link.call(
            "run",
            request,
            seconds=held.wall_seconds,
            judge=lambda done: outcome_of(done, len(pipeline.stages), kept),
            source=source,
            sink=sink,
        )

    async def resolve(self, name: str, search: Sequence[str]) -> Program | None:
        """The program that a bare name stands for on a search path of box folders.

        Raises:
            UnresolvedError: the box did not say; that is another thing than no such program.
        """

        def read(done: Head, _data: bytes) -> Program | None:
            if not value_of(done):
                return None
            value = value_of(done, path=str, found=str)
            return Program(name, value["path"], value["found"])

        if "\0" in name or not _has_bytes(name):
            return None  # no file can have this name
        request = {"name": name, "search": list(search)}
        found = await self._look("resolve", request, read, path=name)
        if isinstance(found, Fault):
            raise _unresolved(name, found)
        return found

    async def check(
        self,
        checks: Sequence[PathCheck],
        cwd: str = ".",
        protect: Sequence[str] | None = None,
    ) -> Sequence[PathFault]:
        """Judge path operands on their real paths, below the workspace."""

        def read(_done: Head, data: bytes) -> list[PathFault]:
            faults = []
            for index, reason, message in _rows(data, int, str, str):
                if index >= len(checks):
                    raise ProtocolError("a path that was not asked about has a fault")
                check = checks[index]
                faults.append(PathFault(check, reason, f"{check.path}: {message}"))
            return faults

        if not checks:
            return ()
        asked = [(check.path, check.kind, check.writable, check.root) for check in checks]
        names = PROTECTED if protect is None else protect
        request = {"checks": asked, "cwd": cwd, "protect": list(names)}
        found = await self._look("check", request, read, path=cwd)
        if isinstance(found, Fault):
            if found.message.startswith(SLOW):
                raise _unresolved(checks[0].path, found)
            return [PathFault(check, "path-escape", found.message) for check in checks]
        return found

    async def glob(self, pattern: str, cwd: str = ".", limit: int = 1000) -> Sequence[str]:
        """Names that a shell glob stands for."""
        request = {"root": "workspace", "pattern": pattern, "cwd": cwd, "limit": limit}
        found = await self._look("glob", request, lambda _, data: _texts(data), path=pattern)
        if isinstance(found, Fault) and found.message.startswith(SLOW):
            raise _unresolved(pattern, found)
        return () if isinstance(found, Fault) else found

    # -- files -------------------------------------------------------------------------------

    async def read_file(
        self, path: str, *, root: Root = "workspace", offset: int = 0, limit: int = 1 << 20
    ) -> FileData | Fault:
        """Up to ``limit`` bytes of a regular file from ``offset``."""

        def read(done: Head, data: bytes) -> FileData:
            value = value_of(done, offset=int, size=int, mode=int)
            return FileData(path, data, value["offset"], value["size"], value["mode"])

        request = {"root": root, "path": path, "offset": offset, "limit": limit}
        return await self._look("read_file", request, read, path=path, most=limit)

    async def write_file(
        self,
        path: str,
        data: bytes,
        *,
        root: Root = "workspace",
        mode: int | None = None,
        expect: bytes | None = None,
    ) -> Written | Fault:
        """Write a file whole."""

        def read(done: Head, _data: bytes) -> Written:
            value = value_of(done, size=int, created=bool)
            return Written(path, value["size"], value["created"])

        temporary = f".stockade-{secrets.token_hex(8)}"
        request = {"root": root, "path": path, "mode": mode, "expect": expect}
        request["temporary"] = temporary
        written: Written | Fault | None = None
        try:
            written = await self._look("write_file", request, read, path=path, source=data)
        finally:
            if written is None or (isinstance(written, Fault) and written.code == "other"):
                await self._discard(root, path, temporary)
        return written

    async def _discard(self, root: Root, path: str, temporary: str) -> None:
        """A write that was ended between its two steps leaves a file with an odd name."""
        request = {"root": root, "path": path, "temporary": temporary}
        with contextlib.suppress(RunnerError):
            await self._look("discard", request, lambda *_: None, path=path)

    async def list_dir(
        self, path: str = ".", *, root: Root = "workspace", limit: int = 1000
    ) -> Listing | Fault:
        """Names of a folder."""

        def read(done: Head, data: bytes) -> Listing:
            entries = tuple(Entry(*row) for row in _rows(data, str, str, int, int))
            return Listing(path, entries, value_of(done, total=int)["total"])

        request = {"root": root, "path": path, "limit": limit}
        return await self._look("list_dir", request, read, path=path)

    async def find_files(
        self, pattern: str, path: str = ".", *, root: Root = "workspace", limit: int = 1000
    ) -> Found | Fault:
        """Regular files whose relative path matches a glob with ``**``."""

        def read(done: Head, data: bytes) -> Found:
            return Found(tuple(_texts(data)), value_of(done, complete=bool)["complete"])

        request = {"root": root, "path": path, "pattern": pattern, "limit": limit}
        return await self._look("find_files", request, read, path=path)

    async def search_text(
        self,
        pattern: str,
        path: str = ".",
        *,
        regex: bool = False,
        glob: str = "**",
        root: Root = "workspace",
        limit: int = 200,
    ) -> Sequence[Match] | Fault:
        """Lines that hold a text, or match a regular expression."""

        def read(_done: Head, data: bytes) -> list[Match]:
            return [Match(*row) for row in _rows(data, str, int, str)]

        request = {
            "root": root,
            "path": path,
            "pattern": pattern,
            "regex": regex,
            "glob": glob,
            "limit": limit,
        }
        return await self._look("search_text", request, read, path=path)

    async def put_tree(self, tar: Path, *, root: Root = "workspace") -> None:
        """Unpack an archive that runners.workspace wrote into a root."""
        request = {"root": root, "entries": ENTRIES_MAX}
        with await asyncio.to_thread(tar.open, "rb") as file:
            fault = await self._link.call(
                "put_tree",
                request,
                seconds=TREE_SECONDS,
                judge=lambda done: fault_of(done, ""),
                source=pieces(file),
            )
        if fault is not None:
            where = f"{fault.path}: " if fault.path else ""
            raise WorkspaceError(f"the files cannot be put into the box: {where}{fault.message}")

    async def get_tree(self, tar: Path, *, root: Root = "workspace", limit_mib: int = 512) -> None:
        """Pack a root into an archive file for runners.workspace to read."""
        request = {"root": root, "limit": limit_mib << 20, "entries": ENTRIES_MAX}
        most = (limit_mib << 20) + ENTRIES_MAX * ENTRY_BYTES
        total = 0

        async def sink(piece: Piece) -> None:
            nonlocal total
            total += len(piece.data)
            if piece.at + len(piece.data) != total or total > most:
                raise ProtocolError("the box sends another archive than it may")
            await asyncio.to_thread(file.write, piece.data)

        with await asyncio.to_thread(tar.open, "wb") as file:
            fault = await self._link.call(
                "get_tree",
                request,
                seconds=TREE_SECONDS,
                judge=lambda done: fault_of(done, ""),
                sink=sink,
            )
        if fault is not None:
            raise RunnerError(f"the files cannot be taken out of the box: {fault.message}")

    async def close(self) -> None:
        """End the box and all in it; safe to repeat."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        try:
            await self._link.close()
        finally:
            if self._on_close is not None:
                await self._on_close()

    async def _look(
        self,
        operation: str,
        request: dict[str, Any],
        read: Callable[[Head, bytes], T],
        *,
        path: str,
        source: Source | None = None,
        most: int = LIST_MAX,
    ) -> T | Fault:
        """An operation whose output is small enough to be held."""
        held = bytearray()

        def sink(piece: Piece) -> None:
            if piece.at != len(held) or len(held) + len(piece.data) > most:
                raise ProtocolError(f"{operation} sends more than it may")
            held.extend(piece.data)

        def judge(done: Head) -> T | Fault:
            fault = fault_of(done, path)
            return read(done, bytes(held)) if fault is None else fault

        seconds = min(LOOK_SECONDS, self._setup.limits.wall_seconds)
        return await self._link.call(
            operation, request, seconds=seconds, judge=judge, source=source, sink=sink
        )


def _has_bytes(name: str) -> bool:
    """Whether a name can be a file's: text, or bytes that are none in the usual disguise."""
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return True


def _unresolved(word: str, fault: Fault) -> UnresolvedError:
    text = f"{word!r} could not be looked up in the box: {fault.message}"
    return UnresolvedError(text, timed_out=fault.message.startswith(SLOW))


def _rows(data: bytes, *kinds: type) -> list[list[Any]]:
    """A JSON list of rows with exactly these types."""
    rows = _json_list(data)
    for row in rows:
        if not isinstance(row, list) or [type(cell) for cell in row] != list(kinds):
            raise ProtocolError("an operation answers with a malformed row")
        if any(type(cell) is int and not 0 <= cell < NUMBER_MAX for cell in row):
            raise ProtocolError("an operation answers with a number out of range")
    return rows


def _texts(data: bytes) -> list[str]:
    texts = _json_list(data)
    if not all(type(text) is str for text in texts):
        raise ProtocolError("an operation answers with something that is no text")
    return texts


def _json_list(data: bytes) -> list[Any]:
    try:
        found = json.loads(data.decode("ascii") or "[]")
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"an operation answers with no JSON: {error}") from None
    if not isinstance(found, list):
        raise ProtocolError("an operation answers with no list")
    return found
