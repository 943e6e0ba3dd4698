"""The whole way of an action: judge, ask, expand, resolve, check, run by links."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from harness.action.consideration import Considered, Placed, consider, denial, placed
from harness.action.identity import IdentityFault, executable
from harness.action.performed import Performed, StepDone, ends_plan, succeeded
from harness.approval import Answer, ApprovalRequest, Approver, put_question
from harness.bus import Events
from harness.event import ToolJudged
from harness.judge import Judge, verdict_fields
from harness.signal import Signal
from policies import Cd, Command, Decision, Limits, PathCheck, Pipeline, Plan, Stage, Verdict
from runners import Ending, OnOutput, Outcome, Session, UnresolvedError

__all__ = ["carry_out", "perform"]


async def perform(  # noqa: PLR0913 - all but three by keyword, with a default
    session: Session,
    policy: Judge,
    action: Command | Plan | str,
    *,
    cwd: str = ".",
    limits: Limits | None = None,
    approver: Approver | None = None,
    on_output: OnOutput | None = None,
    events: Events | None = None,
    signal: Signal | None = None,
    name: str = "exec",
) -> Performed:
    """Judge an action, ask where the policy asks, and run it.

    A denial, at whatever point, is a Performed with that verdict; nothing of a denied plan was
    started, unless the denial is about what an earlier step of it made.

    Raises:
        RunnerError: the box failed.
    """
    events, signal = events or Events(), signal or Signal()
    root = session.paths["workspace"]
    found = consider(policy, action, root=root, isolation=session.isolation, cwd=cwd)
    events.emit(
        ToolJudged(name, policy=getattr(policy, "digest", None), **verdict_fields(found.verdict))
    )
    if found.verdict.decision is Decision.DENY:
        return Performed(found.verdict, found.plan)
    asked = found.verdict.decision is Decision.ASK
    if asked:
        request = ApprovalRequest(
            name, "", found.summary, found.verdict.message or "the policy asks", found.verdict.rule
        )
        reply = await put_question(approver, request, events=events, signal=signal)
        if reply.answer is not Answer.ALLOWED:
            unanswered = reply.answer is Answer.UNAVAILABLE
            reason = "approval-unavailable" if unanswered else "approval-denied"
            text = reply.reason or ("nobody answered" if unanswered else "the operator said no")
            verdict = denial(found.verdict, reason, f"approval needed: {text}")
            return Performed(verdict, found.plan, asked=True, unanswered=unanswered)
    done = await carry_out(session, policy, found, limits=limits, on_output=on_output)
    return dataclasses.replace(done, asked=asked)


async def carry_out(
    session: Session,
    policy: Judge,
    found: Considered,
    *,
    limits: Limits | None = None,
    on_output: OnOutput | None = None,
) -> Performed:
    """Run what was allowed, or asked about and permitted."""
    assert found.plan is not None
    run = _Run(session, policy, found, limits, on_output)
    return await run.run(placed(found.plan, found.verdict))


class _Refused(Exception):  # noqa: N818 - a verdict on the way up
    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


@dataclasses.dataclass(frozen=True, slots=True)
class _Ready:
    """A pipeline that may start."""

    pipeline: Pipeline
    programs: tuple[str, ...]
    limits: Limits


class _Run:
    """One plan in one box."""

    def __init__(
        self,
        session: Session,
        policy: Judge,
        found: Considered,
        limits: Limits | None,
        on_output: OnOutput | None,
    ) -> None:
        self._session = session
        self._policy = policy
        self._found = found
        self._on_output = on_output
        self._protect: tuple[str, ...] | None = getattr(policy, "protect", None)
        own: Limits | None = getattr(policy, "limits", None)
        self._left = found.verdict.conditions.limits
        for other in (own, limits):
            if other is not None:
                self._left = self._left.least(other)

    async def run(self, steps: Sequence[Placed]) -> Performed:
        """Look at all steps first, so that a denial comes before anything starts; then run."""
        done: list[StepDone] = []
        try:
            ready = [
                await self._first_look(step, first=not number) for number, step in enumerate(steps)
            ]
        except _Refused as refused:
            return Performed(refused.verdict, self._found.plan)
        except UnresolvedError as error:
            return self._unready(steps, done, error)
        try:
            await self._go(steps, ready, done)
        except UnresolvedError as error:
            return self._unready(steps, done, error)
        except _Refused as refused:
            done.append(StepDone(len(done), problem=refused.verdict.message))
            done += [StepDone(step.index, skipped=True) for step in steps[len(done) :]]
            return Performed(refused.verdict, self._found.plan, tuple(done))
        verdict = dataclasses.replace(self._found.verdict, decision=Decision.ALLOW)
        return Performed(verdict, self._found.plan, tuple(done))

    def _unready(
        self, steps: Sequence[Placed], done: list[StepDone], error: UnresolvedError
    ) -> Performed:
        """Nothing more was started: the box did not say in time what would be."""
        ending = Ending.TIMED_OUT if error.timed_out else Ending.LOST
        outcome = Outcome(ending, start_error=str(error))
        done.append(StepDone(len(done), outcome, problem=str(error)))
        done += [StepDone(step.index, skipped=True) for step in steps[len(done) :]]
        verdict = dataclasses.replace(self._found.verdict, decision=Decision.ALLOW)
        return Performed(verdict, self._found.plan, tuple(done))

    async def _go(
        self, steps: Sequence[Placed], ready: Sequence[_Ready | None], done: list[StepDone]
    ) -> None:
        assert self._found.plan is not None
        good, over = True, False
        for step, seen in zip(steps, ready, strict=True):
            link = self._found.plan.links[step.index - 1] if step.index else ";"
            if over or (link == "&&" and not good) or (link == "||" and good):
                done.append(StepDone(step.index, skipped=True))
                continue
            if isinstance(step.step, Cd):
                problem = await self._enter(step)
                done.append(StepDone(step.index, problem=problem))
                good, over = not problem, bool(problem)
                continue
            # earlier steps may have changed what is there
            now = seen if seen is not None and not step.index else await self._look(step)
            outcome = await self._start(now, step.cwd)
            good, problem = succeeded(outcome), ends_plan(outcome)
            done.append(StepDone(step.index, outcome, problem=problem))
            over = bool(problem)

    async def _start(self, ready: _Ready, cwd: str) -> Outcome:
        outcome = await self._session.run(
            ready.pipeline,
            cwd=cwd,
            limits=ready.limits.least(self._left),
            programs=ready.programs,
            on_output=self._on_output,
        )
        self._left = dataclasses.replace(
            self._left,
            wall_seconds=max(self._left.wall_seconds - outcome.wall_seconds, 0.05),
            cpu_seconds=max(self._left.cpu_seconds - outcome.cpu_seconds, 0.05),
        )
        return outcome

    async def _first_look(self, step: Placed, *, first: bool) -> _Ready | None:
        """What can be said before anything starts.

        Later steps may wait for what earlier ones make: of them only what leaves the workspace or
        is protected is refused at once, and a pattern that matches nothing yet is left for later.
        """
        if isinstance(step.step, Cd):
            return None
        if first:
            return await self._look(step)
        for stage, verdict in zip(step.step.stages, step.verdicts, strict=True):
            await self._program(stage, verdict, step.cwd, early=True)
            for fault in await self._session.check(verdict.checks, step.cwd, self._protect):
                if fault.reason in ("path-escape", "path-protected"):
                    raise _Refused(denial(verdict, fault.reason, fault.message))
        return None

    async def _look(self, step: Placed) -> _Ready:
        """Expand, judge the result, resolve programs and check paths: right before the start."""
        assert isinstance(step.step, Pipeline)
        pipeline, verdicts = step.step, step.verdicts
        if any(stage.globs for stage in pipeline.stages):
            pipeline = Pipeline(
                tuple([await self._expand(stage, step.cwd) for stage in pipeline.stages])
            )
            verdicts = self._judged(pipeline, step.cwd)
        programs = []
        limits = self._left
        for stage, verdict in zip(pipeline.stages, verdicts, strict=True):
            programs.append(await self._program(stage, verdict, step.cwd))
            checks: Sequence[PathCheck] = verdict.checks
            faults = await self._session.check(checks, step.cwd, self._protect) if checks else ()
            if faults:
                raise _Refused(denial(verdict, faults[0].reason, faults[0].message))
            limits = limits.least(verdict.conditions.limits)
        forced = tuple(
            _forced(stage, verdict)
            for stage, verdict in zip(pipeline.stages, verdicts, strict=True)
        )
        return _Ready(Pipeline(forced), tuple(programs), limits)

    def _judged(self, pipeline: Pipeline, cwd: str) -> tuple[Verdict, ...]:
        """The verdicts on an expanded pipeline; it may not need more than was permitted."""
        verdict = self._policy.judge_plan(Plan((pipeline,), (), cwd), root=self._found.root)
        if verdict.decision is Decision.DENY:
            raise _Refused(verdict)
        if verdict.decision > self._found.verdict.decision:
            text = "what the pattern stands for needs an approval; write the names out"
            raise _Refused(denial(verdict, "approval-unavailable", text))
        return verdict.stages

    async def _expand(self, stage: Stage, cwd: str) -> Stage:
        """The stage with its patterns replaced by the names that they stand for."""
        words: list[str] = []
        for index, word in enumerate(stage.argv):
            if index not in stage.globs:
                words.append(word)
                continue
            names = await self._session.glob(word, cwd)
            if not names:
                text = f"the pattern {word} matches no file in the workspace"
                raise _Refused(Verdict(Decision.DENY, "plan:glob-empty", index, text))
            words += [f"./{name}" if name.startswith("-") else name for name in names]
        return dataclasses.replace(stage, argv=tuple(words), globs=())

    async def _program(
        self, stage: Stage, verdict: Verdict, cwd: str, *, early: bool = False
    ) -> str:
        try:
            return await executable(self._session, verdict, stage.argv[0], cwd)
        except IdentityFault as fault:
            if early and not verdict.search and fault.reason == "value-type":
                return ""  # a program of the workspace that an earlier step may make
            raise _Refused(denial(verdict, fault.reason, str(fault))) from fault

    async def _enter(self, step: Placed) -> str:
        """Why a ``cd`` fails, or ""."""
        assert isinstance(step.step, Cd)
        faults = await self._session.check([PathCheck(-1, step.step.path, "dir")], step.cwd)
        return f"cd {step.step.path}: {faults[0].message}" if faults else ""


def _forced(stage: Stage, verdict: Verdict) -> Stage:
    """The stage with the environment that the policy forces; it stands above the stage's own."""
    if not verdict.conditions.env:
        return stage
    env = {**dict(stage.env), **dict(verdict.conditions.env)}
    return dataclasses.replace(stage, env=tuple(env.items()))
