"""One attempt at one task, and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.run.folder import read_object

__all__ = ["Attempt", "finished_attempt"]

INFRASTRUCTURE = 3


@dataclass(frozen=True, slots=True)
class Attempt:
    """A finished run of a task.

    Attributes:
        task: the task's name in the batch.
        number: from 1.
        tries: starts that it took; more than one where the machine failed.
        exit_code: of the run; 2 where the task itself cannot be used.
        result: what `result.json` holds, or what stands in its place.
        folder: the run folder, None where there is none.
    """

    task: str
    number: int
    tries: int
    exit_code: int
    result: Mapping[str, Any]
    folder: Path | None

    @property
    def passed(self) -> bool:
        """Whether the run counts as passed (or completed, where there is no verifier)."""
        return self.exit_code in (0, 4)

    @property
    def seconds(self) -> float:
        """How long the run took, verification included; 0 where nothing is known."""
        return float(self.result.get("seconds") or 0.0)

    def record(self) -> dict[str, Any]:
        """For the summary."""
        return {
            "attempt": self.number,
            "tries": self.tries,
            "exit_code": self.exit_code,
            "status": self.result.get("status"),
            "verdict": self.result.get("verdict"),
            "reward": self.result.get("reward"),
            "denials": self.result.get("denials", 0),
            "error": self.result.get("error"),
            "spent": self.result.get("spent") or {},
            "seconds": self.seconds,
            "run": self.result.get("run"),
            "folder": None if self.folder is None else str(self.folder),
        }


def finished_attempt(task: str, number: int, place: Path) -> Attempt | None:
    """An attempt that an earlier start of the batch finished, or None.

    One that ended as infrastructure or was cancelled is not finished: it is tried again.
    """
    tries = sorted(place.glob("try-*"), key=lambda path: int(path.name.partition("-")[2]))
    for path in reversed(tries):
        result = read_object(path / "result.json")
        if result is None:
            continue
        code = result.get("exit_code")
        if isinstance(code, int) and code not in (INFRASTRUCTURE, 129, 130, 143):
            return Attempt(task, number, len(tries), code, result, path)
    return None
