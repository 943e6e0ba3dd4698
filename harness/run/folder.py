"""The folder of a run, and how a run is found again: by id, by path, or as ``latest``."""

from __future__ import annotations

import datetime as dt
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.config import runs_folder
from harness.errors import ConfigError
from harness.record import parts
from harness.run.options import RunOptions, options_from_json, options_to_json
from policies import read_regular

__all__ = ["RunFolder", "find_run", "list_runs", "new_id"]

LARGEST = 64 << 20
"""Bytes of a file that holds one JSON object."""


class RunFolder:
    """One run on disk: ``events.jsonl lock.json result.json patch.diff artifacts/ report.html``.

    Private to its owner: a log holds what programs printed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events = path / "events.jsonl"
        self.options = path / "options.json"
        self.lock = path / "lock.json"
        self.result = path / "result.json"
        self.report = path / "report.html"
        self.patch = path / "patch.diff"
        self.artifacts = path / "artifacts"

    @classmethod
    def create(cls, run: str, out: Path | None = None) -> RunFolder:
        """A new folder: ``out`` where the operator named one (empty or absent), else by id."""
        path = out or runs_folder() / run
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=out is not None)
            if any(path.iterdir()):
                raise ConfigError(f"--out {path}: the folder is not empty; name another one")
            (path / "artifacts").mkdir(mode=0o700)
        except OSError as error:
            raise ConfigError(f"the run folder {path} cannot be made: {error.strerror}") from None
        return cls(path)

    @property
    def id(self) -> str:
        """The run's id as its first record has it, else the folder's name."""
        first = self.first_record()
        run = first.get("run") if first else None
        return run if isinstance(run, str) else self.path.name

    def first_record(self) -> dict[str, Any]:
        """The first record of the log, or nothing where it cannot be read."""
        first = next(iter(parts(self.events)), self.events)
        try:
            with first.open("rb") as file:
                record = json.loads(file.readline(1 << 20))
        except (OSError, ValueError, RecursionError):
            return {}
        return record if isinstance(record, dict) else {}

    def read_result(self) -> dict[str, Any] | None:
        """The result, or None while a run goes on or after it was killed."""
        return read_object(self.result)

    def read_lock(self) -> dict[str, Any] | None:
        """The lock, or None where there is none."""
        return read_object(self.lock)

    def read_options(self) -> RunOptions | None:
        """What the operator asked for, as far as taking the run up needs it; None: not there."""
        found = read_object(self.options)
        return None if found is None else options_from_json(found)

    def write_options(self, options: RunOptions) -> None:
        """What the operator asked for, with absolute paths."""
        write_object(self.options, options_to_json(options))

    def write_result(self, result: dict[str, Any]) -> None:
        """The result, whole or not at all."""
        write_object(self.result, result)

    def write_lock(self, lock: dict[str, Any]) -> None:
        """The lock, whole or not at all."""
        write_object(self.lock, lock)


def read_object(path: Path) -> dict[str, Any] | None:
    """A JSON object from a file, or None."""
    try:
        value = json.loads(read_regular(path, LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def write_object(path: Path, value: dict[str, Any]) -> None:
    """A JSON object, by a new file and a rename."""
    part = path.with_name(path.name + ".part")
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:  # a file name that is no text, or what a model sent
        data = (json.dumps(value, indent=2) + "\n").encode("ascii")
    try:
        part.write_bytes(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def new_id(now: dt.datetime | None = None) -> str:
    """An id that sorts by time and does not repeat."""
    moment = now or dt.datetime.now(dt.UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def list_runs(root: Path | None = None) -> Iterator[RunFolder]:
    """The runs of the state folder, newest first."""
    folder = root or runs_folder()
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir(), key=lambda path: path.name, reverse=True):
        if parts(path / "events.jsonl"):
            yield RunFolder(path)


def find_run(name: str, root: Path | None = None) -> RunFolder:
    """A run by id, by path, or the ``latest``; ConfigError where there is no such run."""
    folder = root or runs_folder()
    if name == "latest":
        for run in list_runs(folder):
            return run
        raise ConfigError(f"there is no run yet in {folder}")
    candidates = [Path(name)] if "/" in name or name in {".", ".."} else [folder / name, Path(name)]
    for path in candidates:
        if parts(path / "events.jsonl"):
            return RunFolder(path)
    raise ConfigError(f"there is no run {name!r}; `stockade runs list` names them")
