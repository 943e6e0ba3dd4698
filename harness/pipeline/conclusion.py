"""Everything after the body: check, freeze, render, hooks, final content, limit, notification."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from harness.artifact import ArtifactStore
from harness.bus import Events
from harness.errors import LogError
from harness.event import Notice, ToolFinished
from harness.hook import UNSET, Accept, Block, Draft, Hooks, PostDecision
from harness.pipeline.case import Case
from harness.result import (
    NO_FACTS,
    Artifact,
    Failure,
    FailureKind,
    NotJsonError,
    Success,
    ToolResult,
    freeze,
    joined,
    thaw,
)
from harness.text import safe_message, shorten

__all__ = ["CONTENT_CHARACTERS", "Conclusion"]

CONTENT_CHARACTERS = 30_000
"""What the model reads of one result at most."""


@dataclass(slots=True)
class Conclusion:
    """Makes the one final result of every case, and tells whoever listens."""

    hooks: Hooks
    events: Events
    render: Callable[[Any], str]
    content_characters: int
    artifacts: ArtifactStore | None

    async def conclude(self, case: Case) -> ToolResult:
        """The final result of a case that has an outcome."""
        assert case.outcome is not None
        outcome, content = self._settle(case, case.outcome)
        contexts = list(case.execution.contexts)
        if not case.skip_post and self.hooks.post:
            outcome, content, contexts = await self._post(case, outcome, content, contexts)
        result = self._finalize(case, self._result(case, outcome, content, contexts))
        result = self._limit(case, result)
        self._tell(case, result)
        return result

    def _settle(self, case: Case, outcome: Success | Failure) -> tuple[Success | Failure, str]:
        """Check, freeze and render a value; a failure's content is its message."""
        if isinstance(outcome, Failure):
            return outcome, outcome.kind.prefix + outcome.message
        name = case.call.name
        try:
            value = freeze(outcome.value)
        except (NotJsonError, RecursionError) as error:
            return self._invalid(f"{name}: the value is no JSON: {error}")
        entry = case.entry
        if entry is not None and entry.output is not None:
            faults = entry.output.violations(thaw(value))
            if faults:
                return self._invalid(f"{name}: {'; '.join(faults)}")
        try:
            if entry is None or entry.tool.render is None:
                return Success(value), self.render(value)
            return Success(value), joined(entry.tool.render(case.given, value))
        except Exception as error:  # a rendering that fails is the tool's fault, not the loop's
            text = safe_message(error, case.call.arguments)
            return self._invalid(f"{name}: the value cannot be rendered: {text}")

    @staticmethod
    def _invalid(message: str) -> tuple[Failure, str]:
        failure = Failure(FailureKind.INVALID_OUTPUT, message)
        return failure, failure.kind.prefix + message

    async def _post(
        self, case: Case, outcome: Success | Failure, content: str, contexts: list[str]
    ) -> tuple[Success | Failure, str, list[str]]:
        try:
            decision = await self._consult(case, Draft(outcome, content))
            if isinstance(decision, Block):
                failure = Failure(
                    FailureKind.DENIED, f"{case.call.name}: {decision.reason}", "", "BLOCKED"
                )
                return failure, failure.kind.prefix + failure.message, list(decision.contexts)
            contexts = [*contexts, *decision.contexts]
            if decision.value is not UNSET:
                if decision.content is not None:
                    raise ValueError("it replaces the value and the content")
                if isinstance(outcome, Failure):
                    raise ValueError("it gives a failed call a value")
                outcome, content = self._settle(case, Success(decision.value))
            elif decision.content is not None:
                content = decision.content
        except LogError:
            raise
        except Exception as error:  # a listener that fails fails its call, never the loop
            text = safe_message(error, case.call.arguments)
            message = f"{case.call.name}: a post-execute hook failed: {text}"
            failure = Failure(FailureKind.RAISED, message, type(error).__name__, "HOOK_FAILED")
            return failure, failure.kind.prefix + message, contexts
        return outcome, content, contexts

    async def _consult(self, case: Case, draft: Draft) -> PostDecision:
        """The post-execute chain; with no hook the result is accepted."""
        hooks = tuple(self.hooks.post)
        info = case.info

        async def enter(index: int) -> PostDecision:
            if index == len(hooks):
                return Accept()
            inside: Callable[[], Awaitable[PostDecision]] = lambda: enter(index + 1)  # noqa: E731
            decision = await hooks[index](info, draft, inside)
            if not isinstance(decision, Accept | Block):
                raise TypeError(f"it returned {decision!r:.40}, no decision")
            return decision

        return await enter(0)

    def _result(
        self, case: Case, outcome: Success | Failure, content: str, contexts: list[str]
    ) -> ToolResult:
        ok = isinstance(outcome, Success)
        entry = case.entry
        facts: Mapping[str, Any] = NO_FACTS
        if isinstance(outcome, Success) and entry is not None and entry.tool.facts is not None:
            facts = freeze(entry.tool.facts(outcome.value))
        return ToolResult(
            tool=case.call.name,
            call_id=case.call.id,
            ok=ok,
            content=content,
            value=outcome.value if isinstance(outcome, Success) else None,
            error=None if isinstance(outcome, Success) else outcome.info(),
            duration_seconds=case.duration_seconds,
            contexts=tuple(contexts),
            ends_run=ok and entry is not None and entry.tool.ends_run,
            facts=facts,
        )

    def _finalize(self, case: Case, result: ToolResult) -> ToolResult:
        """The tool's own last word on the content of any outcome."""
        entry = case.entry
        if entry is None or entry.tool.finalize is None:
            return result
        try:
            content = entry.tool.finalize(result)
            if not isinstance(content, str):
                raise TypeError(f"it returned {content!r:.40}, no text")
            return result if content == result.content else replace(result, content=content)
        except Exception as error:  # the call fails, the loop goes on
            text = safe_message(error, case.call.arguments)
            failure = Failure(
                FailureKind.RAISED,
                f"{case.call.name}: the final content cannot be made: {text}",
                type(error).__name__,
                "HOOK_FAILED",
            )
            return replace(
                result,
                ok=False,
                value=None,
                error=failure.info(),
                content=failure.kind.prefix + failure.message,
                ends_run=False,
            )

    def _limit(self, case: Case, result: ToolResult) -> ToolResult:
        """Cut the content, never the value; say how much is missing and where the rest is."""
        limit = self.content_characters
        if len(result.content) <= limit:
            return result
        artifact = self._keep(case, result.content)
        note = f"[The output has {len(result.content)} characters"
        if artifact is None:
            note += "; the middle was left out and not kept.]"
        else:
            note += (
                f"; the middle was left out. All of it: read_artifact "
                f'{{"id": "{artifact.id}"}} ({artifact.size} bytes, {artifact.digest}).]'
            )
        return replace(
            result, content=f"{shorten(result.content, limit)}\n{note}", artifact=artifact
        )

    def _keep(self, case: Case, content: str) -> Artifact | None:
        if self.artifacts is None:
            return None
        try:
            return self.artifacts.keep(content)
        except OSError as error:
            text = f"the whole output of {case.call.name} was not kept: {error.strerror}"
            self.events.emit(Notice("artifact", text), step=case.step, call=case.call.id)
            return None

    def _tell(self, case: Case, result: ToolResult) -> None:
        error = result.error
        payload = ToolFinished(
            name=result.tool,
            ok=result.ok,
            content=result.content,
            duration_seconds=result.duration_seconds,
            error=None
            if error is None
            else {
                "kind": error.kind.value,
                "code": error.code,
                "type": error.type,
                "message": error.message,
            },
            contexts=result.contexts or None,
            artifact=None if result.artifact is None else asdict(result.artifact),
            outcome=result.facts or None,
        )
        self.events.emit(payload, step=case.step, call=case.call.id)
        for observer in tuple(self.hooks.observers):
            try:
                answer = observer(case.info, result)
                if inspect.iscoroutine(answer):
                    answer.close()
                    raise TypeError("an observer is a plain function")
            except Exception as failure:  # an observer must not change what it observes
                text = f"an observer of tool results failed: {type(failure).__name__}"
                self.events.emit(Notice("observer", text), step=case.step, call=case.call.id)
