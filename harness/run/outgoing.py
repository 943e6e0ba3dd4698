"""The workspace of a run: into the box, out of the box, and back to its owner if so wished."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError
from harness.event import Notice
from harness.run.box import Box, sized
from harness.run.options import BoxOptions
from harness.run.work import Work, tell
from runners import Session, WorkspaceError
from runners.workspace import (
    PROTECTED,
    LeftOut,
    Survey,
    compare,
    copy_in,
    copy_out,
    shown,
    snapshot,
    survey,
)

if TYPE_CHECKING:
    from runners.workspace import CopiedIn, CopiedOut, Guard, Trace

__all__ = ["Changes", "Workspace"]

MOST_NAMED = 20


class Workspace:
    """A folder of the operator's that is worked on in a box: as a copy, or in place.

    Args:
        source: the folder; None is an empty one.
        work: the run.
        include: patterns of files that would be left out.
        protect: names below which no change leaves the box.
        in_place: the box gets the folder itself.
        limit_mib: the most that goes in and comes out.
    """

    def __init__(
        self,
        source: Path | None,
        work: Work,
        *,
        include: Sequence[str] = (),
        protect: Sequence[str] = PROTECTED,
        in_place: bool = False,
        limit_mib: int = 512,
    ) -> None:
        self.source = source
        self.work = work
        self.include = tuple(include)
        self.protect = tuple(protect)
        self.in_place = in_place
        self.limit_mib = limit_mib
        self.copied: CopiedIn | None = None
        self.guard: Guard | None = None
        self.seen: Survey | None = None

    async def look(self) -> None:
        """See what would be copied in; that needs no box yet."""
        if self.source is not None and not self.in_place:
            self.seen = await survey(self.source, include=self.include, limit_mib=self.limit_mib)

    async def open(self, box: Box) -> Session:
        """Look at the folder if that was not done, and open a session with it inside."""
        spec = box.spec
        if self.in_place and self.source is not None:
            from runners.workspace import Guard

            folder = self.source.resolve()
            self.guard = await asyncio.to_thread(Guard.begin, folder, self.protect)
            spec = replace(spec, in_place=folder, protect=self.guard.paths)
        elif self.seen is None:
            await self.look()
        if self.seen is not None:
            spec = sized(spec, self.seen.tree.size, partial(tell, self.work, "weaker"))
        session = await box.open(spec)
        await self.fill(session, self.seen)
        self.seen = None
        return session

    @property
    def digest(self) -> str:
        """Of what went in."""
        assert self.copied is not None
        return self.copied.tree.digest

    async def fill(self, session: Session, seen: Survey | None) -> None:
        """Copy in, and say what was left out; in place, keep the folder as it is for later."""
        archive = self.work.scratch / "in.tar"
        if self.in_place and self.source is not None:
            self.copied = await snapshot(
                self.source, archive, include=self.include, limit_mib=self.limit_mib
            )
            return
        self.copied = await copy_in(
            session,
            self.source,
            include=self.include,
            archive=archive,
            limit_mib=self.limit_mib,
            surveyed=seen,
        )
        if self.copied.tree.left_out:
            text = f"not copied in: {listed(self.copied.tree.left_out)}"
            self.work.events.emit(Notice("left-out", text))

    async def take(self, session: Session, name: str = "result") -> Changes:
        """Copy out into a scratch folder of that name, and say what may not leave the box."""
        assert self.copied is not None
        dest = self.work.scratch / name
        if self.in_place and self.source is not None:
            out = await compare(self.copied, dest, protect=self.protect, limit_mib=self.limit_mib)
        else:
            out = await copy_out(
                session, self.copied, dest, protect=self.protect, limit_mib=self.limit_mib
            )
        changes = Changes(self.copied, out, in_place=self.guard is not None)
        for kind, text in changes.remarks():
            self.work.events.emit(Notice(kind, text))
        return changes

    async def put_aside(self) -> None:
        """When the box is closed: undo what no box may leave in a folder, and say what else is."""
        if self.guard is None:
            return
        for trace in await asyncio.to_thread(self.guard.settle, f"stockade-{self.work.run}"):
            self.work.events.emit(Notice("put-aside", told(trace)))


def told(trace: Trace) -> str:
    """What a box left in a folder, for people."""
    path, other = shown(trace.path), shown(trace.other)
    if trace.kind == "made" and trace.other:
        return f"{path} was made in the box; it is now {other}"
    if trace.kind == "moved":
        return f"{path} was moved in the box; it was {other}"
    if trace.kind == "cleared":
        return f"{path} was made set-uid or set-gid in the box; it is no longer"
    if trace.kind == "privileged":
        return f"{path} was made set-uid or set-gid in the box; take that away with chmod a-s"
    return f"{path}: look at it, it could not be put aside"


@dataclass(frozen=True, slots=True)
class Changes:
    """What came out of the box, beside what went in."""

    copied: CopiedIn
    out: CopiedOut
    in_place: bool = False

    @property
    def patch(self) -> bytes:
        """The changes in the form that ``git apply`` takes."""
        return self.out.patch.text

    def remarks(self) -> list[tuple[str, str]]:
        """What a person should know of them."""
        found = []
        if not self.out.complete:
            found.append(("incomplete", "the result is too large to come out of the box"))
        if self.out.refused:
            where = "is not in the patch" if self.in_place else "stays in the box"
            found.append(("refused", f"{where}: {listed(self.out.refused)}"))
        found += [("flagged", f"{shown(flag.path)}: {flag.reason}") for flag in self.out.flagged]
        return found

    def record(self) -> dict[str, Any]:
        """For ``result.json``."""
        return {
            "files": [
                {"path": shown(change.path), "kind": change.kind} for change in self.out.changes
            ],
            "bytes": len(self.patch),
            "complete": self.out.complete,
            "refused": [named(item) for item in self.out.refused],
            "flagged": [{"path": shown(f.path), "reason": f.reason} for f in self.out.flagged],
        }

    def write(self, patch: Path) -> dict[str, Any]:
        """Write the patch into the run folder; returns what to record."""
        patch.write_bytes(self.patch)
        return {"patch": self.record()}

    def hand_over(self, box: BoxOptions) -> dict[str, Any]:
        """The patch where the operator wants it too; returns what to record."""
        if box.patch is not None:
            try:
                box.patch.write_bytes(self.patch)
            except OSError as error:
                raise HarnessError(f"--patch {box.patch}: {error.strerror}") from error
        return self.apply() if box.apply else {}

    def apply(self) -> dict[str, Any]:
        """Change the workspace itself, all of it or nothing; returns what to record."""
        if self.copied.source is None:
            return {}
        from runners.workspace import apply_changes

        applied = apply_changes(self.copied.source, self.out.changes, self.out.content)
        if applied.conflicts:
            names = ", ".join(f"{shown(c.path)} ({c.reason})" for c in applied.conflicts)
            raise WorkspaceError(f"--apply: nothing was written, because of {names}")
        return {"applied": True}


def named(item: LeftOut) -> dict[str, str]:
    """A path with its reason."""
    return {"path": shown(item.path), "reason": item.reason}


def listed(items: Sequence[LeftOut]) -> str:
    """Paths with their reasons in one line."""
    parts = [f"{shown(item.path)} ({item.reason})" for item in items[:MOST_NAMED]]
    if len(items) > MOST_NAMED:
        parts.append(f"and {len(items) - MOST_NAMED} more")
    return ", ".join(parts)
