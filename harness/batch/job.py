"""What the operator asked for: the tasks found, the plan of a batch and its folder."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.config import runs_folder
from harness.errors import ConfigError
from harness.run import RunOptions
from harness.run.folder import new_id, read_object, write_object
from harness.run.options import options_to_json
from runners import RunnerError
from runners.workspace import digest

__all__ = ["BatchJob", "BatchOptions", "Entry", "find_tasks", "make_batch"]

PLAN = "batch.json"
MARKS = ("task.toml", "task.yaml")

MOST_NAME_BYTES = 200
"""Of a task: room is left for what makes it unique, and for the attempt, in a folder's name."""


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """A whole batch.

    Attributes:
        sources: folders of tasks, task folders, or files that list task folders.
        run: what every run gets; its `task` and `out` are set for each.
        jobs: runs side by side.
        attempts: runs of each task; it counts by its best.
        retries: further tries of an attempt that ended as infrastructure, and only of those.
        pattern: glob on the task's name; None takes all.
        fail_fast: start nothing more after a task that did not pass.
        deadline: seconds for the whole batch; None: none.
        out: the batch's folder; naming it again takes an interrupted batch up.
        min_pass: share of tasks (0 to 1) that must pass.
        baseline: the summary of an earlier batch: only what passed there must pass.
    """

    sources: tuple[Path, ...]
    run: RunOptions = field(default_factory=RunOptions)
    jobs: int = 1
    attempts: int = 1
    retries: int = 1
    pattern: str | None = None
    fail_fast: bool = False
    deadline: float | None = None
    out: Path | None = None
    min_pass: float | None = None
    baseline: Path | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One task of a batch: its folder, and a name that is unique in the batch."""

    name: str
    folder: Path


@dataclass(frozen=True, slots=True)
class BatchJob:
    """A batch that may start.

    Attributes:
        options: as given.
        entries: in a fixed order.
        folder: where everything is kept.
        resumed: an earlier start left finished attempts there.
        baseline: names that passed in the baseline, or None where there is none.
    """

    options: BatchOptions
    entries: tuple[Entry, ...]
    folder: Path
    resumed: bool
    baseline: frozenset[str] | None


def make_batch(options: BatchOptions) -> BatchJob:
    """Find the tasks and prepare the folder; ConfigError (exit 2) says what does not fit."""
    entries = find_tasks(options.sources)
    if options.pattern is not None:
        entries = [e for e in entries if fnmatch.fnmatchcase(e.name, options.pattern)]
        if not entries:
            raise ConfigError(f"--filter {options.pattern}: no task has such a name")
    baseline = None if options.baseline is None else _passed(options.baseline)
    folder = options.out or runs_folder().with_name("batches") / new_id()
    resumed = _prepare(folder, options, entries)
    return BatchJob(options, tuple(entries), folder, resumed, baseline)


def find_tasks(sources: Sequence[Path]) -> list[Entry]:
    """The task folders of the sources, in the order named, those of a folder by name."""
    folders: list[Path] = []
    for source in sources:
        folders += _tasks_of(source)
    seen: dict[Path, None] = {folder.resolve(): None for folder in folders}
    for folder in seen:
        try:
            str(folder).encode()
        except UnicodeEncodeError:
            shown = os.fsencode(folder).decode("utf-8", "replace")
            raise ConfigError(f"{shown}: the name is not UTF-8; rename the folder") from None
    return _named(list(seen))


def _named(folders: Sequence[Path]) -> list[Entry]:
    """Each folder with a name of its own; the first of a name has it as it is.

    A result belongs to a name, and so does a folder of runs, which some file systems find in
    whatever case it is asked for: two tasks of one name would count as one.
    """
    entries: list[Entry] = []
    given = {_folded(folder.name) for folder in folders}
    taken: set[str] = set()
    for folder in folders:
        base = folder.name.encode()[:MOST_NAME_BYTES].decode(errors="ignore")
        name, number = base, 2
        while _folded(name) in taken or (number > 2 and _folded(name) in given):
            name, number = f"{base}-{number}", number + 1
        taken.add(_folded(name))
        entries.append(Entry(name, folder))
    return entries


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _tasks_of(source: Path) -> list[Path]:
    if source.is_file():
        return _listed(source)
    if not source.is_dir():
        raise ConfigError(f"{source}: no such folder or file")
    if _is_task(source):
        return [source]
    found = [path for path in sorted(source.iterdir()) if path.is_dir() and _is_task(path)]
    if not found:
        raise ConfigError(f"{source}: no task folder in it (one holds a task.toml)")
    return found


def _listed(source: Path) -> list[Path]:
    try:
        lines = source.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{source}: cannot be read as a list of task folders: {error}") from None
    folders: list[Path] = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        folder = source.parent / text
        if not folder.is_dir() or not _is_task(folder):
            raise ConfigError(f"{source}:{number}: {text} is no task folder")
        folders.append(folder)
    if not folders:
        raise ConfigError(f"{source}: lists no task folder")
    return folders


def _is_task(folder: Path) -> bool:
    return any((folder / mark).is_file() for mark in MARKS)


def _prepare(folder: Path, options: BatchOptions, entries: Sequence[Entry]) -> bool:
    """Make the folder, or take up one that the same command made; returns whether it did."""
    plan = _plan(options, entries)
    old = read_object(folder / PLAN)
    if old is not None:
        if old.get("digest") != plan["digest"]:
            raise ConfigError(
                f"--out {folder}: another batch began there (other tasks or flags); "
                "repeat its command to take it up, or name another folder"
            )
        return True
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"--out {folder}: the folder is not empty and holds no batch")
    try:
        (folder / "runs").mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"the batch folder {folder} cannot be made: {error.strerror}") from None
    write_object(folder / PLAN, plan)
    return False


def _plan(options: BatchOptions, entries: Sequence[Entry]) -> dict[str, Any]:
    """What makes two batches the same: which tasks, and how each of them runs."""
    said = {
        "tasks": [[e.name, str(e.folder), _digest(e.folder)] for e in entries],
        "attempts": options.attempts,
        "run": options_to_json(options.run),
        "files": [_content(name) for name in (options.run.box.policy, _script(options.run.model))],
    }
    text = json.dumps(said, sort_keys=True)
    return {"schema": 1, "digest": "sha256:" + hashlib.sha256(text.encode()).hexdigest(), **said}


def _digest(folder: Path) -> str | None:
    """Of a task's folder; None where it cannot be read, which its own run will say."""
    try:
        return digest(folder)
    except (OSError, RunnerError):
        return None


def _content(name: str | None) -> str | None:
    """The digest of a file that an option names, if it names one."""
    if name is None or not Path(name).is_file():
        return None
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


def _script(model: str | None) -> str | None:
    kind, _, file = (model or "").partition(":")
    return file if kind == "scripted" else None


def _passed(path: Path) -> frozenset[str]:
    """The tasks that passed in an earlier summary."""
    found = read_object(path)
    tasks = None if found is None else found.get("tasks")
    if not isinstance(tasks, list) or not all(isinstance(t, Mapping) for t in tasks):
        raise ConfigError(
            f"--baseline {path}: is no summary of a batch (`stockade batch --json` prints one)"
        )
    return frozenset(str(task.get("name")) for task in tasks if task.get("passed") is True)
