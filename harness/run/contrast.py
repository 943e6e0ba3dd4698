"""Two runs side by side: what they are made of, what was called, how they ended."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.recall import RecalledCall, recall
from harness.record import read_events
from harness.run.folder import RunFolder
from harness.run.lock import differences

__all__ = ["Contrast", "contrast"]

_RESULT = ("status", "verdict", "reward", "exit_code", "denials", "answer")


@dataclass(frozen=True, slots=True)
class Contrast:
    """What differs between two runs.

    Attributes:
        first, second: their ids.
        made_of: one line for each value of the locks that is not the same.
        calls: a unified diff of the calls with their outcomes, without file heads.
        ended: one line for each value of the results that is not the same.
        patch: whether the patches differ.
    """

    first: str
    second: str
    made_of: tuple[str, ...]
    calls: tuple[str, ...]
    ended: tuple[str, ...]
    patch: bool

    @property
    def differs(self) -> bool:
        """Whether anything is not the same."""
        return bool(self.made_of or self.calls or self.ended or self.patch)

    def record(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "first": self.first,
            "second": self.second,
            "made_of": list(self.made_of),
            "calls": list(self.calls),
            "ended": list(self.ended),
            "patch_differs": self.patch,
        }

    def lines(self) -> Iterator[str]:
        """For people."""
        if not self.differs:
            yield f"{self.first} and {self.second}: nothing differs"
            return
        for title, lines in (
            ("made of", self.made_of),
            ("calls", self.calls),
            ("ended", self.ended),
        ):
            if lines:
                yield f"{title}:"
                yield from (f"  {line}" for line in lines)
        if self.patch:
            yield "the patches differ"


def contrast(first: RunFolder, second: RunFolder) -> Contrast:
    """Compare two run folders; what one of them lacks counts as empty."""
    calls = difflib.unified_diff(_calls(first), _calls(second), lineterm="", n=1)
    return Contrast(
        first.id,
        second.id,
        tuple(differences(first.read_lock() or {}, second.read_lock() or {})),
        tuple(line for line in calls if not line.startswith(("---", "+++"))),
        tuple(differences(_ended(first), _ended(second))),
        _patch(first) != _patch(second),
    )


def _ended(folder: RunFolder) -> dict[str, Any]:
    result = folder.read_result() or {}
    return {key: result.get(key) for key in _RESULT}


def _patch(folder: RunFolder) -> bytes:
    return folder.patch.read_bytes() if folder.patch.exists() else b""


def _calls(folder: RunFolder) -> list[str]:
    run = recall(read_events(folder.events))
    return [f"step {step.number}: {_call(call)}" for step in run.steps for call in step.calls]


def _call(call: RecalledCall) -> str:
    decision = str((call.verdict or {}).get("decision", ""))
    if call.result is None:
        outcome = "no result"
    elif decision == "deny":
        outcome = "denied"
    else:
        code = "" if call.code is None else f", exit {call.code}"
        outcome = ("ok" if call.ok else "error") + code
    return f"{call.name} {call.arguments} -> {outcome}"
