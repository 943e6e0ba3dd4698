"""A model, tools and an approver that give what was recorded."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from harness.approval import Answer, ApprovalRequest
from harness.approval import Reply as Said
from harness.errors import ModelError, ScriptExhaustedError
from harness.model import ModelRequest, Reply
from harness.recall import RecalledCall, Recollection
from harness.result import ToolResult
from harness.tool import Execution, Tool, ToolError

__all__ = ["RecordedApprover", "RecordedModel", "recorded_tools"]


class RecordedModel:
    """Gives the recorded answers in order; one that failed then, fails now."""

    def __init__(self, run: Recollection) -> None:
        self.name = f"replay:{run.run}"
        self._steps = list(run.steps)
        self._next = 0

    async def generate(self, request: ModelRequest, /) -> Reply:
        """The answer that was recorded for this step."""
        del request
        if self._next >= len(self._steps):
            raise ScriptExhaustedError(f"{self.name}: the record has no further answer")
        step = self._steps[self._next]
        self._next += 1
        answer = step.assistant
        if answer is None or step.reply is None:
            raise ModelError(f"{self.name}: no answer was recorded for step {step.number}")
        return Reply(
            answer.text,
            answer.calls,
            step.usage,
            tuple(step.reply.get("repairs") or ()),
            str(step.reply.get("model") or ""),
            answer.reasoning,
            bool(step.reply.get("cut")),
        )


class RecordedApprover:
    """Gives the recorded answers to questions; a question that was not asked then is unanswered."""

    name = "replay"

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self._answers = {
            (record.get("call"), record.get("name")): record
            for record in records
            if record.get("type") == "approval/decided"
        }

    async def ask(self, request: ApprovalRequest) -> Said:
        """What was answered then."""
        record = self._answers.get((request.call_id, request.tool))
        if record is None:
            return Said(Answer.UNAVAILABLE, "replay", "this was not asked in the recorded run")
        try:
            answer = Answer(str(record.get("answer")))
        except ValueError:
            return Said(Answer.UNAVAILABLE, "replay", "the recorded answer is none that there is")
        return Said(answer, str(record.get("by", "")), str(record.get("reason") or ""))


def recorded_tools(tools: Iterable[Tool], run: Recollection) -> list[Tool]:
    """The tools with bodies that give recorded results: no box is touched.

    Everything before the body (validation, policy, budgets) is the real one.
    """
    calls = {(step.number, call.id): call for step in run.steps for call in step.calls}
    return [_stand_in(tool, calls) for tool in tools]


def _stand_in(tool: Tool, calls: Mapping[tuple[int, str], RecalledCall]) -> Tool:
    given: dict[str, str] = {}  # by call id: the content that was recorded

    def execute(arguments: object, execution: Execution) -> str:
        del arguments
        call = calls.get((execution.step, execution.call_id))
        if call is None or call.result is None:
            raise ToolError("no result of this call was recorded", type="NotRecorded")
        given[execution.call_id] = call.content
        for note in call.result.get("contexts") or ():
            execution.note(str(note))
        if not call.ok:
            error = call.result.get("error") or {}
            raise ToolError(str(error.get("message") or ""), type=str(error.get("type") or ""))
        return call.content

    def finalize(result: ToolResult) -> str:
        # What the pipeline itself says (a denial, a fault of arguments) is compared, not replaced.
        return given.pop(result.call_id, result.content)

    return dataclasses.replace(
        tool,
        execute=execute,
        output=None,
        render=None,
        parse=None,
        facts=None,
        finalize=finalize,
        inline=True,
        timeout_seconds=None,
    )
