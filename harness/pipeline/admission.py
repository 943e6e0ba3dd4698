"""Before the body: parse, look up, validate, hooks, verdict, approval, guards, budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from harness.approval import Answer, ApprovalRequest, Approver, put_question
from harness.arguments import ArgumentsError, decode_arguments
from harness.budget import Ledger
from harness.bus import Events
from harness.errors import LogError
from harness.event import ToolCalled, ToolJudged
from harness.hook import Allow, Ask, Decision, Deny, Hooks
from harness.judge import Judge, denial_text, strictest, verdict_fields
from harness.message import ToolCall
from harness.pipeline.case import Case
from harness.registry import Registry
from harness.result import FailureKind, freeze
from harness.signal import Signal
from harness.text import safe_message
from harness.tool import Execution, ToolError
from policies import Decision as Verdicts
from policies import Verdict
from runners import RunnerError

__all__ = ["Admission"]

_ALLOW = Allow()
_NO_PATHS: tuple[tuple[str, ...], ...] = ((),)


@dataclass(slots=True)
class Admission:
    """Decides whether a body may start. It is the only way to one."""

    registry: Registry
    hooks: Hooks
    ledger: Ledger
    events: Events
    judge: Judge | None
    approver: Approver | None
    root: str
    answer_seconds: float

    async def admit(self, call: ToolCall, *, step: int, signal: Signal) -> Case:
        """Look at one call; the case has an outcome if its body may not start."""
        case = self._open(call, step, signal)
        called = ToolCalled(call.name, call.arguments)
        self.events.emit(called, step=step, call=call.id, soon=self._judged_at_once(case))
        if signal.cancelled:
            case.fail(
                FailureKind.ABORTED,
                f"{call.name}: not executed, the run was cancelled",
                code="ABORTED_BEFORE_DISPATCH",
                skip_post=True,
            )
            return case
        self._read(case)
        if not case.ready and case.entry is not None:
            return case
        try:
            await self._decide(case)
        except (LogError, RunnerError):
            raise
        except ToolError as error:  # a tool's own `prepare` says what is wrong with the call
            case.fail(FailureKind.RAISED, f"{call.name}: {error}", type=error.type)
        except Exception as error:  # a listener that fails fails its call, never the loop
            message = f"{call.name}: a check failed: {safe_message(error, call.arguments)}"
            case.fail(
                FailureKind.DENIED,
                message,
                code="HOOK_FAILED",
                type=type(error).__name__,
                skip_post=True,
            )
        return case

    def dropped(
        self,
        call: ToolCall,
        step: int,
        signal: Signal,
        kind: FailureKind,
        why: str,
        *,
        told: bool = True,
    ) -> Case:
        """A call that is not looked at any more; its result says why."""
        if not told:
            self.events.emit(ToolCalled(call.name, call.arguments), step=step, call=call.id)
        case = self._open(call, step, signal)
        code = "ABORTED_BEFORE_DISPATCH" if kind is FailureKind.ABORTED else ""
        case.fail(kind, f"{call.name}: not executed, {why}", code=code, skip_post=True)
        return case

    def _judged_at_once(self, case: Case) -> bool:
        """Whether nobody is asked, and nothing is awaited, before there is a verdict or a fault."""
        tool = None if case.entry is None else case.entry.tool
        if tool is None or self.judge is None or self.hooks.pre:
            return False
        return tool.prepare is None and not tool.unjudged

    def _open(self, call: ToolCall, step: int, signal: Signal) -> Case:
        entry = self.registry.entry(call.name)
        return Case(call, step, signal, entry, Execution(call.id, call.name, step, signal))

    def _read(self, case: Case) -> None:
        """Parse, look up, validate: structure first, then the tool's own rules."""
        call = case.call
        if case.entry is None:
            case.fail(FailureKind.UNKNOWN_TOOL, self._unknown(call.name))
            return
        tool = case.entry.tool
        try:
            arguments = decode_arguments(call.arguments)
        except ArgumentsError as error:
            case.fail(FailureKind.INVALID_ARGUMENTS, f"{call.name}: {error}")
            return
        faults = case.entry.parameters.violations(arguments)
        try:
            if not faults and tool.rules is not None:
                faults = [str(fault) for fault in tool.rules(arguments)]
            if not faults:
                case.arguments = freeze(arguments)
                case.given = arguments if tool.parse is None else tool.parse(arguments)
        except Exception as error:  # a rule that cannot decide refuses
            faults = [f"$: the tool's rules failed: {safe_message(error, call.arguments)}"]
        if faults:
            case.fail(FailureKind.INVALID_ARGUMENTS, f"{call.name}: {'; '.join(faults)}")

    def _unknown(self, name: str) -> str:
        names = self.registry.names()
        listed = f"available: {', '.join(names)}" if names else "there are none"
        nearest = self.registry.nearest(name)
        hint = f"; did you mean {nearest}?" if nearest else ""
        return f"{name!r:.80} is no tool here ({listed}){hint}"

    async def _decide(self, case: Case) -> None:
        """Hooks, verdict, approval, guards, budget: in this order."""
        decision = await self._consult(case) if self.hooks.pre else _ALLOW
        if isinstance(decision, Deny):
            self._deny(case, decision.reason or "a hook refused it")
            return
        if not case.ready:  # unknown tools: hooks saw the name, nothing else is to decide
            return
        reasons = [decision.reason] if isinstance(decision, Ask) else []
        verdict = await self._judge(case)
        if verdict is not None and verdict.decision is Verdicts.DENY:
            self._deny(case, denial_text(verdict))
            return
        if verdict is not None and verdict.decision is Verdicts.ASK:
            reasons.append(verdict.message or "the policy asks")
        if reasons and not await self._approved(case, "; ".join(reasons), verdict):
            return
        self._guard(case)
        if case.ready:
            self._reserve(case)

    async def _consult(self, case: Case) -> Decision:
        """The pre-execute chain; past its end the decision is to allow."""
        hooks = tuple(self.hooks.pre)
        info = case.info

        async def enter(index: int) -> Decision:
            if index == len(hooks):
                return _ALLOW
            inside: Callable[[], Awaitable[Decision]] = lambda: enter(index + 1)  # noqa: E731
            decision = await hooks[index](info, inside)
            if not isinstance(decision, Allow | Deny | Ask):
                raise TypeError(f"a pre-execute hook returned {decision!r:.40}, no decision")
            return decision

        return await enter(0)

    async def _judge(self, case: Case) -> Verdict | None:
        """The policy's verdict, written to the log; None where no policy judges."""
        assert case.entry is not None
        tool = case.entry.tool
        action = None
        if tool.prepare is not None:
            verdict: Verdict | None
            verdict, plan, action = await tool.prepare(case.given, case.execution)
            case.execution.plan = plan
        elif self.judge is None or tool.unjudged:
            return None
        else:
            groups = tool.paths(case.given) if tool.paths is not None else _NO_PATHS
            found = [self.judge.judge_tool(tool.name, group, root=self.root) for group in groups]
            if not found:
                found = [self.judge.judge_tool(tool.name, (), root=self.root)]
            verdict = strictest(found)
        if verdict is not None:
            digest = getattr(self.judge, "digest", None)
            fields = verdict_fields(verdict)
            payload = ToolJudged(case.call.name, policy=digest, action=action, **fields)
            self.events.emit(payload, step=case.step, call=case.call.id)
        return verdict

    async def _approved(self, case: Case, reason: str, verdict: Verdict | None) -> bool:
        """Put the one question; an over-budget call is not worth one."""
        over = self.ledger.refusal(case.call.name)
        if over is not None:
            self._reserve(case)
            return False
        request = ApprovalRequest(
            tool=case.call.name,
            call_id=case.call.id,
            summary=self._summary(case),
            reason=reason,
            rule=None if verdict is None else verdict.rule,
            tier=None if case.entry is None else case.entry.tool.tier,
            arguments=case.call.arguments,
            signal=case.signal,
        )
        reply = await put_question(
            self.approver,
            request,
            events=self.events,
            signal=case.signal,
            seconds=self.answer_seconds,
        )
        if reply.answer is Answer.ALLOWED:
            return True
        case.unanswered = reply.answer is Answer.UNAVAILABLE
        if reply.answer is Answer.CANCELLED:
            message = f"{case.call.name}: not executed, the run was cancelled"
            case.fail(FailureKind.ABORTED, message, code="ABORTED_BEFORE_DISPATCH")
            return False
        said = "the operator said no" if reply.answer is Answer.REJECTED else "nobody answered"
        why = f": {reply.reason}" if reply.reason else ""
        code = "REJECTED" if reply.answer is Answer.REJECTED else "UNANSWERED"
        self._deny(case, f"approval needed ({reason}), {said}{why}", code=code)
        return False

    def _summary(self, case: Case) -> str:
        plan = case.execution.plan
        text = getattr(plan, "summary", None)
        return str(text) if text else f"{case.call.name} {case.call.arguments}"

    def _guard(self, case: Case) -> None:
        """The owner's standing policy, which has the last word."""
        for guard in self.hooks.guards:
            try:
                reason = guard(case.info)
            except Exception as error:  # a guard that cannot decide refuses
                reason = f"a guard failed: {type(error).__name__}"
            if reason is not None:
                self._deny(case, str(reason) or "a guard refused it")
                return

    def _reserve(self, case: Case) -> None:
        reason = self.ledger.reserve(case.call.name)
        if reason is None:
            case.reserved = True
        else:
            case.fail(FailureKind.OVER_BUDGET, f"{case.call.name}: not executed, {reason}")

    def _deny(self, case: Case, reason: str, *, code: str = "") -> None:
        case.denied = True
        case.fail(FailureKind.DENIED, f"{case.call.name}: {reason}", code=code)
