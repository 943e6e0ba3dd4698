"""One call on its way through the pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
        step, signal: the step that it belongs to; cancelled with the run.
        arguments: the validated arguments, frozen, or None.
        entry: the tool, or None.
        execution: what the body gets.
        given: what the body gets as arguments.
        outcome: success or failure, once there is one; a case with one does not run.
        reserved: a start is taken from the budget and not yet used.
        skip_post: post-execute hooks are not consulted.
        denied, unanswered: for the run's tallies.
    """

    call: ToolCall
    step: int
    signal: Signal
    entry: Entry | None
    execution: Execution
    arguments: Mapping[str, Any] | None = None
    given: Any = None
    outcome: Success | Failure | None = None
    reserved: bool = False
    skip_post: bool = False
    denied: bool = False
    unanswered: bool = False
    duration_seconds: float = 0.0
    _info: CallInfo | None = None

    @property
    def info(self) -> CallInfo:
        """What hooks see; made once the arguments are known."""
        if self._info is None:
            call, entry = self.call, self.entry
            tier = None if entry is None else entry.tool.tier
            self._info = CallInfo(
                call.id,
                call.name,
                call.arguments,
                self.arguments,
                entry is not None,
                tier,
                self.step,
                self.signal,
            )
        return self._info

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
