"""Boxes that each break one promise on purpose, to prove that the suite would notice.

Each stands in front of a real session and spoils one thing; all else is the real box's.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os

from policies import Limits
from runners.contract import Runner, Session, SessionSpec
from runners.errors import ProtocolError
from runners.outcome import Capture, Ending, Fault, FileData, Outcome

HUGE = Limits(60, 600, 4096, 400, 4096, 4096, 4096, 1024)


class BrokenSession:
    """Passes everything on; sub-classes spoil something."""

    def __init__(self, session: Session) -> None:
        self.real = session

    def __getattr__(self, name: str):
        return getattr(self.real, name)

    async def run(self, pipeline, **options) -> Outcome:
        return await self.real.run(pipeline, **options)

    async def read_file(self, path, **options):
        return await self.real.read_file(path, **options)

    @staticmethod
    def spec(spec: SessionSpec) -> SessionSpec:
        return spec


class InventsVariables(BrokenSession):
    """Promise 1: programs get more than was given."""

    async def run(self, pipeline, **options):
        options["env"] = {**(options.get("env") or {}), "INVENTED": "1"}
        return await self.real.run(pipeline, **options)


class LeavesDaemons(BrokenSession):
    """Promise 2: what a call started goes on growing its file."""

    grown = 0

    async def read_file(self, path, **options):
        data = await self.real.read_file(path, **options)
        if path == "beat" and isinstance(data, FileData):
            self.grown += 1
            return dataclasses.replace(data, size=data.size + self.grown)
        return data


class ComesLate(BrokenSession):
    """Promise 3: a call that reached its limit is told long after."""

    async def run(self, pipeline, **options):
        outcome = await self.real.run(pipeline, **options)
        if outcome.ending is Ending.TIMED_OUT:
            await asyncio.sleep(4)
        return outcome


class RaisesFaults(BrokenSession):
    """Promise 4: a missing file is an exception."""

    async def read_file(self, path, **options):
        data = await self.real.read_file(path, **options)
        if isinstance(data, Fault) and data.code == "not-found" and path == "none":
            raise ProtocolError("a missing file")
        return data


class MiscountsOutput(BrokenSession):
    """Promise 5: what is cut is not told."""

    async def run(self, pipeline, **options):
        outcome = await self.real.run(pipeline, **options)
        if outcome.stdout.missing:
            kept = outcome.stdout
            honest = Capture(kept.head, kept.tail, len(kept.data))
            return dataclasses.replace(outcome, stdout=honest)
        return outcome


class FollowsLinks(BrokenSession):
    """Promise 6: a link to the outside is read."""

    async def read_file(self, path, **options):
        data = await self.real.read_file(path, **options)
        if isinstance(data, Fault) and path == "magic":
            return FileData(path, b"root:x:0:0", 0, 10, 0o644)
        return data


class CleansBytes(BrokenSession):
    """Promise 8: bytes that are no text are replaced."""

    async def run(self, pipeline, **options):
        outcome = await self.real.run(pipeline, **options)
        streams = [
            Capture(kept.head.decode("utf-8", "replace").encode(), kept.tail, kept.total)
            if kept.head.startswith(b"\xff")
            else kept
            for kept in (outcome.stdout, outcome.stderr)
        ]
        return dataclasses.replace(outcome, stdout=streams[0], stderr=streams[1])


class OneAtATime(BrokenSession):
    """Promise 9: calls wait for each other."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.turn = asyncio.Lock()

    async def run(self, pipeline, **options):
        words = pipeline.stages[0].argv
        if words[0] != "sleep":
            return await self.real.run(pipeline, **options)
        async with self.turn:
            return await self.real.run(pipeline, **options)


class ClosesOnce(BrokenSession):
    """Promise 10: a second close fails, and is not the suite's own."""

    closed = 0

    async def close(self):
        await self.real.close()
        self.closed += 1
        if self.closed == 2:
            raise ProtocolError("it is closed")


class LeaksSecrets(BrokenSession):
    """Promise 11: the harness's environment is there to be read."""

    async def run(self, pipeline, **options):
        secret = os.environ.get("STOCKADE_CONFORMANCE_SECRET")
        if secret:
            options["env"] = {**(options.get("env") or {}), "LEAKED": secret}
        return await self.real.run(pipeline, **options)


class ForgetsLimits(BrokenSession):
    """Promise 12: a session has more than was asked for."""

    @staticmethod
    def spec(spec: SessionSpec) -> SessionSpec:
        wide = dataclasses.replace(HUGE, wall_seconds=spec.limits.wall_seconds)
        return dataclasses.replace(spec, limits=wide)

    async def run(self, pipeline, **options):
        if options.get("limits") is not None:
            options["limits"] = dataclasses.replace(options["limits"], cpu_seconds=600.0)
        return await self.real.run(pipeline, **options)


BROKEN = {
    1: InventsVariables,
    2: LeavesDaemons,
    3: ComesLate,
    4: RaisesFaults,
    5: MiscountsOutput,
    6: FollowsLinks,
    8: CleansBytes,
    9: OneAtATime,
    10: ClosesOnce,
    11: LeaksSecrets,
    12: ForgetsLimits,
}


class BrokenRunner:
    """A real box whose sessions are spoilt."""

    def __init__(self, inner: Runner, kind: type[BrokenSession]) -> None:
        self.inner = inner
        self.kind = kind
        self.name = inner.name

    async def open(self, spec: SessionSpec) -> Session:
        return self.kind(await self.inner.open(self.kind.spec(spec)))

    async def probe(self):
        return await self.inner.probe()

    async def sweep(self):
        return await self.inner.sweep()
