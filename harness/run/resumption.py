"""Taking a run up again after its harness died (decision 28).

The recorded calls are run again in a fresh session, and what came of them is compared; then the
conversation goes on where the log ends. A call without a result is 'outcome unknown': whether it
did something cannot be told, so it is not run again unless the operator says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import ConfigError, LogError
from harness.event import StepEnd, ToolFinished
from harness.message import ToolCall, ToolMessage, User
from harness.recall import RecalledCall, RecalledStep, Recollection, recall
from harness.record import read_events
from harness.run.folder import RunFolder
from harness.run.options import RunOptions
from harness.run.work import goes_on

if TYPE_CHECKING:
    from harness.agent import Agent
    from harness.loop import LoopResult
    from harness.pipeline import Batch
    from harness.result import ToolResult

__all__ = [
    "DriftError",
    "EndedError",
    "Resumption",
    "find_open",
    "find_resumption",
    "take_up",
    "tallies",
]

UNKNOWN = (
    "Outcome unknown: the harness died while this call was under way; "
    "it may or may not have done its work, and was not run again."
)
_PURE = frozenset({"finish", "read_artifact"})
"""Tools that change nothing anywhere: what came of them is known by running them again."""

_SPENT = frozenset({"step_limit", "tool_limit", "time_limit", "token_limit"})
"""Ends of the agent that stand; a model or a box that failed may work now."""

_RAN = frozenset({"raised", "timeout", "invalid_output", "aborted"})
"""Kinds of failure of a body that was started."""


class EndedError(ConfigError):
    """The run has ended: there is nothing to take up."""


class DriftError(ConfigError):
    """What is run again does not come out as recorded; `--accept-drift` goes on all the same."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """A run that can be taken up.

    Attributes:
        folder: its folder; the log there is continued.
        records: what the log holds, without a torn last record.
        accept_drift: go on where what is run again comes out otherwise.
        rerun_unknown: run calls again whose outcome is unknown.
    """

    folder: RunFolder
    records: Sequence[dict[str, Any]]
    accept_drift: bool = False
    rerun_unknown: bool = False

    def check(self, records: int) -> None:
        """Insist that the log, now that it is ours to write, holds what was read of it."""
        if records != len(self.records):
            raise ConfigError(f"{self.folder.id}: another process has taken it up meanwhile")

    def earlier_lock(self) -> tuple[Path, dict[str, Any]] | None:
        """What the run was made of, to insist on it; None: drift is accepted, or none is known."""
        lock = self.folder.read_lock()
        return None if lock is None or self.accept_drift else (self.folder.lock, lock)

    def facts(self) -> dict[str, Any]:
        """For the record."""
        return {
            "records": len(self.records),
            "accept_drift": self.accept_drift,
            "rerun_unknown": self.rerun_unknown,
        }

    @property
    def run(self) -> Recollection:
        """What the log tells."""
        return recall(self.records)


def find_resumption(
    folder: RunFolder, *, accept_drift: bool = False, rerun_unknown: bool = False
) -> tuple[RunOptions, Resumption]:
    """What is needed to take a run up, or ConfigError (exit 2) saying why it cannot be."""
    records = find_open(folder)
    if records[0].get("kind") != "run":
        raise ConfigError(
            f"{folder.id}: only whole runs are taken up, no single commands; "
            "--close ends its record"
        )
    options = folder.read_options()
    if options is None:
        raise ConfigError(f"{folder.id}: options.json is missing; it cannot be taken up")
    if options.in_place:
        raise ConfigError(
            f"{folder.id}: it worked in place, so what it did is in the workspace already and "
            "cannot be done again; --close ends its record"
        )
    return options, Resumption(folder, records, accept_drift, rerun_unknown)


def find_open(folder: RunFolder) -> list[dict[str, Any]]:
    """The records of a run that did not end and that nobody is working on, or ConfigError."""
    try:
        records = list(read_events(folder.events))
    except LogError as error:
        raise ConfigError(f"{folder.path.name}: {error}") from None
    if not records or records[0].get("type") != "run/start":
        raise ConfigError(f"{folder.path.name}: nothing was recorded; start the run anew")
    if records[-1].get("type") == "run/end":
        raise EndedError(f"{folder.id}: the run has ended ({records[-1].get('status')})")
    if goes_on(folder):
        raise ConfigError(f"{folder.id}: its harness is alive, or cannot be told to be dead")
    return records


async def take_up(agent: Agent, resumption: Resumption, instruction: str) -> LoopResult:
    """Bring the session and the conversation to where the log ends, then let the loop go on."""
    run = resumption.run
    steps = [step for step in run.steps if step.reply is not None]
    if not steps:
        return await agent.run(instruction)
    await _run_again(agent, resumption, steps)
    agent.transcript.extend(run.messages)
    last = steps[-1]
    _restore(agent, steps)
    results = [ToolMessage(c.id, c.name, c.content, not c.ok) for c in last.calls]
    finished: Batch | None = None
    if not last.whole:
        answer = last.assistant
        assert answer is not None
        agent.transcript.append(answer)
        results, finished = await _finish_step(agent, last, resumption)
        agent.transcript.extend(results)
    ended = _end_step(agent, resumption.records, last, results)
    told = len(agent.transcript)
    if run.steps[-1] is last:
        agent.transcript.extend(_notes(last))
    denials, unanswered = tallies(steps, resumption.records)
    if finished is not None:
        notes = [note for one in finished.results for note in one.contexts]
        agent.transcript.extend([User(note, origin="context") for note in notes])
        denials, unanswered = denials + finished.denials, unanswered + finished.unanswered
    result = await agent.go_on(told=told, ended=ended)
    return replace(
        result, denials=result.denials + denials, unanswered=result.unanswered + unanswered
    )


def tallies(steps: Sequence[RecalledStep], records: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Calls that were denied, and questions that nobody answered, before the harness died."""
    errors = [(c.result or {}).get("error") or {} for step in steps for c in step.calls]
    answers = [r.get("answer") for r in records if r.get("type") == "approval/decided"]
    return [e.get("kind") for e in errors].count("denied"), answers.count("unavailable")


def _notes(step: RecalledStep) -> list[User]:
    """Notes of results that no later request has told the model."""
    notes = [n for call in step.calls for n in (call.result or {}).get("contexts") or ()]
    return [User(str(note), origin="context") for note in notes]


async def _run_again(agent: Agent, resumption: Resumption, steps: Sequence[RecalledStep]) -> None:
    """Run every recorded call that did something in the box, silently, and compare."""
    from harness.bus import Events

    pipeline = agent.twin(Events(run="again"))
    for step in steps:
        for call in step.calls:
            if call.result is None or not _in_box(agent, call) or not _ran(call):
                continue
            batch = await pipeline.run(
                [ToolCall(call.id, call.name, call.arguments)], step=step.number
            )
            if batch.broken is not None:
                raise batch.broken
            difference = _difference(call, batch.results[0])
            if difference and not resumption.accept_drift:
                raise DriftError(
                    f"step {step.number}, {call.name} {call.id}: {difference}; "
                    "--accept-drift goes on all the same"
                )


def _in_box(agent: Agent, call: RecalledCall) -> bool:
    tool = agent.registry.get(call.name)
    return tool is not None and tool.in_box


def _ran(call: RecalledCall) -> bool:
    assert call.result is not None
    if call.ok:
        return True
    error = call.result.get("error") or {}
    return error.get("kind") in _RAN and error.get("code") != "ABORTED_BEFORE_DISPATCH"


def _difference(call: RecalledCall, now: ToolResult) -> str:
    """How a call came out otherwise, or nothing. Texts of programs hold times, so they are free."""
    assert call.result is not None
    if call.ok != now.ok:
        words = {True: "succeeded", False: "failed"}
        return f"it {words[call.ok]} then and {words[now.ok]} now"
    before, after = _endings(call.outcomes), _endings(now.facts.get("outcomes") or ())
    if before != after:
        return f"its programs ended with {before} then and with {after} now"
    if not before and call.content != now.content:
        return "its result reads otherwise"
    return ""


def _endings(outcomes: Sequence[Mapping[str, Any]]) -> list[str]:
    """How each program ended, without its figures."""
    return [f"{one.get('ending')} {list(one.get('codes') or ())}" for one in outcomes]


async def _finish_step(
    agent: Agent, step: RecalledStep, resumption: Resumption
) -> tuple[list[ToolMessage], Batch | None]:
    """Results for the calls of the step that was under way, in order, and what was run for them."""
    missing = [call for call in step.calls if call.result is None]
    rerun = resumption.rerun_unknown
    again = [c for c in missing if c.name in _PURE or (rerun and _in_box(agent, c))]
    found: dict[str, ToolMessage] = {}
    batch = None
    if again:
        calls = [ToolCall(c.id, c.name, c.arguments) for c in again]
        batch = await agent.pipeline.run(calls, step=step.number, signal=agent.signal)
        if batch.broken is not None:
            raise batch.broken
        for result in batch.results:
            message = ToolMessage(result.call_id, result.tool, result.content, not result.ok)
            found[result.call_id] = message
    for call in missing:
        if call.id not in found:
            found[call.id] = ToolMessage(call.id, call.name, UNKNOWN, is_error=True)
            _tell_unknown(agent, step, call)
    made = [found.get(c.id) or ToolMessage(c.id, c.name, c.content, not c.ok) for c in step.calls]
    return made, batch


def _tell_unknown(agent: Agent, step: RecalledStep, call: RecalledCall) -> None:
    error = {"kind": "aborted", "code": "OUTCOME_UNKNOWN", "type": "OutcomeUnknown"}
    payload = ToolFinished(call.name, ok=False, content=UNKNOWN, duration_seconds=0.0, error=error)
    agent.events.emit(payload, step=step.number, call=call.id)


def _restore(agent: Agent, steps: Sequence[RecalledStep]) -> None:
    """The budget goes on from what was spent; only the clock begins anew."""
    for step in steps:
        agent.ledger.steps += 1
        agent.ledger.report(step.usage)
        for call in step.calls:
            if call.result is not None and _ran(call):
                agent.ledger.reserve(call.name)
    skip = getattr(agent.model, "skip", None)
    if skip is not None:
        skip(len(steps))


def _end_step(
    agent: Agent,
    records: Sequence[dict[str, Any]],
    last: RecalledStep,
    results: Sequence[ToolMessage],
) -> tuple[str, str | None] | None:
    """How the run had ended before its harness died, or ends now that the step is whole."""
    ended = _concluded(agent, last, results)
    for record in reversed(records):
        if record.get("type") == "step/end" and record.get("step") == last.number:
            status = str(record.get("status") or "")
            return ended or ((status, None) if status in _SPENT else None)
    how = ended[0] if ended else None
    agent.events.emit(StepEnd(len(last.calls), 0.0, how), step=last.number)
    return ended


def _concluded(
    agent: Agent, step: RecalledStep, results: Sequence[ToolMessage]
) -> tuple[str, str | None] | None:
    """Whether the step ends the run by itself: an answer without calls, a tool that ends it."""
    assert step.reply is not None
    if not step.calls:
        return None if step.reply.get("cut") else ("completed", str(step.reply.get("text", "")))
    for message in results:
        tool = agent.registry.get(message.tool)
        if tool is not None and tool.ends_run and not message.is_error:
            return "completed", message.content
    return None
