"""One call on its way through the pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.hook import CallInfo
from harness.message import ToolCall
from harness.registry import Entry
from harness.result import Failure, FailureKind, Success
from harness.signal import Signal
from harness.tool import Execution

__all__ = ["Case"]


@dataclass(slots=True)
class Case:
    """What is known of a call so far; private to the pipeline.

    Attributes:
        call: as the model wrote it.
        info: what hooks see.
        entry: the tool, or None.
        execution: what the body gets.
        given: what the body gets as arguments.
        outcome: success or failure, once there is one; a case with one does not run.
        reserved: a start is taken from the budget and not yet used.
        started: the body was started at least once.
        skip_post: post-execute hooks are not consulted.
        denied, unanswered: for the run's tallies.
    """

    call: ToolCall
    info: CallInfo
    entry: Entry | None
    execution: Execution
    given: Any = None
    outcome: Success | Failure | None = None
    reserved: bool = False
    started: bool = False
    skip_post: bool = False
    denied: bool = False
    unanswered: bool = False
    duration_seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def signal(self) -> Signal:
        """Cancelled with the run."""
        return self.info.signal

    @property
    def ready(self) -> bool:
        """Whether the body may be started."""
        return self.outcome is None

    def fail(
        self,
        kind: FailureKind,
        message: str,
        *,
        code: str = "",
        type: str = "",  # noqa: A002
        skip_post: bool = False,
    ) -> None:
        """End the case before or in place of its body."""
        self.outcome = Failure(kind, message, type, code)
        self.skip_post = self.skip_post or skip_post

    def see(self, arguments: Mapping[str, Any] | None) -> None:
        """Let hooks see the validated arguments."""
        info = self.info
        self.info = CallInfo(
            info.id, info.name, info.raw, arguments, info.known, info.tier, info.step, info.signal
        )
