"""What all parts of one run share."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from harness.bus import Events
from harness.config import runs_folder
from harness.event import Notice
from harness.record import EventLog, held, parts
from harness.run.audience import Audience
from harness.run.folder import RunFolder
from harness.run.recording import Recording
from harness.run.stop import Stop
from runners import Owner, Session

if TYPE_CHECKING:
    from harness.run.resumption import Resumption

__all__ = ["Work", "begin", "describe", "goes_on", "sweep_scratch", "tell", "tell_box"]

SCRATCH = "scratch"
OWNER = "owner"
EVENTS = "events.jsonl"
ELSEWHERE = "elsewhere"
"""In the state folder: links to the scratch folders of runs whose folder lies outside."""
FULL = {errno.ENOSPC, errno.EDQUOT}


@dataclass(frozen=True, slots=True)
class Work:
    """The folder, the log, the audience and the stop of one run.

    Attributes:
        scratch: a folder for copies, gone when the run ends.
        resumption: what an interrupted run left, where this one takes it up.
    """

    run: str
    folder: RunFolder
    log: EventLog
    events: Events
    audience: Audience
    stop: Stop
    scratch: Path
    resumption: Resumption | None = None


@contextmanager
def begin(
    run: str,
    folder: RunFolder,
    audience: Audience,
    stop: Stop,
    resumption: Resumption | None = None,
    *,
    recording: Recording | None = None,
) -> Iterator[Work]:
    """Open the log, and a scratch folder that a later start can tell to be abandoned."""
    scratch = folder.path / SCRATCH
    # The log comes first: who cannot have it to write must not touch what its writer uses.
    log = open_log(folder, run, recording or Recording(), anew=resumption is None)
    elsewhere = None
    try:
        if resumption is not None:
            resumption.check(log.count)
            shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(mode=0o700)
        elsewhere = remember(scratch, run)
        (scratch / OWNER).write_text(str(Owner.me()), encoding="utf-8")
        events = Events(run=run, log=log)
        events.subscribe(audience.hear)
        yield Work(run, folder, log, events, audience, stop, scratch, resumption)
    finally:
        log.close()
        shutil.rmtree(scratch, ignore_errors=True)
        if elsewhere is not None:
            elsewhere.unlink(missing_ok=True)


def remember(scratch: Path, run: str) -> Path | None:
    """A link to a scratch folder outside the state folder, so that a later start finds it."""
    if scratch.parent.parent == runs_folder():
        return None
    link = runs_folder().parent / ELSEWHERE / run
    link.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(scratch.absolute())
    return link


def open_log(folder: RunFolder, run: str, how: Recording, *, anew: bool) -> EventLog:
    """The log of a run: a new one, or the one that a dead harness left."""
    if anew:
        return EventLog.create(
            folder.events,
            run=run,
            fsync=how.fsync,
            key=how.key,
            redact=how.redact,
            rotate_bytes=how.rotate_bytes,
        )
    return EventLog.reopen(
        folder.events,
        fsync=how.fsync,
        key=how.key,
        redact=how.redact,
        rotate_bytes=how.rotate_bytes,
    )


def sweep_scratch(root: Path | None = None) -> list[str]:
    """Remove the scratch folders of runs whose harness is dead."""
    swept = []
    folder = root or runs_folder()
    links = sorted((folder.parent / ELSEWHERE).glob("*"))
    # Every run waits for this: of a thousand old ones only those are looked at that left a folder.
    left = sorted(folder.glob(f"*/{SCRATCH}"), reverse=True)
    places = [(scratch.parent.name, scratch) for scratch in left if parts(scratch.parent / EVENTS)]
    places += [(link.name, link.readlink()) for link in links if link.is_symlink()]
    for run, scratch in places:
        if abandoned(scratch):
            shutil.rmtree(scratch, ignore_errors=True)
            swept.append(f"scratch folder of run {run}")
    for link in links:
        if not link.exists():
            link.unlink(missing_ok=True)
    return swept


def abandoned(scratch: Path) -> bool:
    """Whether a scratch folder is there and its owner is surely dead.

    One without an owner is that of a harness which died while it made or removed the folder:
    it had the log before and after, so it is dead if nobody holds the log.
    """
    state = owner_state(scratch)
    if state is None:
        return scratch.is_dir() and held(scratch.parent / EVENTS) is False
    return state == "dead"


def goes_on(folder: RunFolder) -> bool:
    """Whether somebody works on a run, or cannot be told not to."""
    scratch = folder.path / SCRATCH
    state = owner_state(scratch)
    if state is not None:
        return state != "dead"
    writing = held(folder.events)
    return scratch.exists() if writing is None else writing


def owner_state(scratch: Path) -> Literal["alive", "dead", "unknown"] | None:
    """What is known of the owner of a scratch folder; None: the folder names none."""
    try:
        return Owner.parse((scratch / OWNER).read_text(encoding="utf-8")).state()
    except (OSError, ValueError):
        return None


def tell(work: Work, kind: str, text: str) -> None:
    """Record a remark, and say it."""
    work.events.emit(Notice(kind, text))


def tell_box(work: Work, session: Session, lock: dict[str, Any]) -> None:
    """Record what the run is made of, and where its workspace lies in the box."""
    detail = {"root": session.paths["workspace"], **lock}
    work.events.emit(Notice("box", f"{lock['runner']}, level {lock['isolation']}", detail))


def describe(error: Exception) -> str:
    """An error in one text; a fault of our own code says so."""
    if isinstance(getattr(error, "exit_code", None), int):
        return str(error)
    if isinstance(error, OSError) and error.errno in FULL:
        return "no space is left where the run folder lies; free some, or name another with --out"
    return f"internal error: {type(error).__name__}: {error}"
