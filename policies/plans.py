"""Verdicts on plans, redirections and tool calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from policies.command import Cd, FromFile, FromText, Plan, Stage, ToFile
from policies.conditions import joined
from policies.judging import NO_GATE
from policies.reasons import sentence
from policies.rule import Gate
from policies.values.paths import Protection, path_check
from policies.values.value import Place
from policies.verdict import Decision, PathCheck, Verdict

if TYPE_CHECKING:
    from policies.policy import Policy

__all__ = ["judge_plan", "judge_tool"]


class PlanJudge:
    """Judges a plan step by step, following its ``cd``."""

    def __init__(self, policy: Policy, plan: Plan, root: str) -> None:
        self.policy = policy
        self.plan = plan
        self.root = root
        protection = Protection(policy.protect)
        self.readable = path_check(protection=protection)
        self.writable = path_check(protection=protection, writable=True)
        self.stages: list[Verdict] = []

    def verdict(self) -> Verdict:
        """The verdict on the whole plan."""
        place = self.policy.place(self.root, self.plan.cwd)
        if not self.plan.steps:
            return self.fault(0, "empty-argv", sentence("empty-argv"))
        for number, step in enumerate(self.plan.steps):
            if isinstance(step, Cd):
                reason = self.readable(step.path, place)
                if reason is not None:
                    return self.fault(number, reason, f"{sentence(reason)}: cd {step.path!r}")
                place = moved(place, step.path)
                continue
            for index, stage in enumerate(step.stages):
                verdict = self.stage(stage, place, fed=index > 0)
                self.stages.append(verdict)
                if verdict.decision is Decision.DENY:
                    return self.denied(number, verdict)
        return self.granted()

    def fault(self, step: int, reason: str, message: str) -> Verdict:
        return Verdict(
            Decision.DENY,
            reason,
            message=message,
            conditions=self.policy.conditions,
            stages=tuple(self.stages),
            stage=len(self.stages),
            step=step,
        )

    def denied(self, step: int, verdict: Verdict) -> Verdict:
        return Verdict(
            Decision.DENY,
            verdict.reason,
            verdict.word,
            verdict.message,
            verdict.rule,
            verdict.line,
            program=verdict.program,
            search=verdict.search,
            conditions=verdict.conditions,
            stages=tuple(self.stages),
            stage=len(self.stages) - 1,
            step=step,
        )

    def granted(self) -> Verdict:
        stages = self.stages
        if not stages:
            return Verdict(Decision.ALLOW, "ok", conditions=self.policy.conditions)
        decision = max(stage.decision for stage in stages)
        first = next(stage for stage in stages if stage.decision is decision)
        return Verdict(
            decision,
            "ok",
            -1,
            " ".join(dict.fromkeys(stage.message for stage in stages if stage.message)),
            first.rule,
            first.line,
            any(stage.runs_code for stage in stages),
            stages[0].program,
            stages[0].search,
            joined([stage.conditions for stage in stages]),
            tuple(check for stage in stages for check in stage.checks),
            tuple(stages),
        )

    def stage(self, stage: Stage, place: Place, *, fed: bool) -> Verdict:
        """The verdict on one stage with its redirections."""
        used: set[str] = set()
        checks: list[PathCheck] = []
        if isinstance(stage.stdin, FromFile):
            used.add("read")
            checks.append(PathCheck(-1, stage.stdin.path, "file"))
        for target in (stage.stdout, stage.stderr):
            if isinstance(target, ToFile):
                used.add("write")
                checks.append(PathCheck(-1, target.path, "path", writable=True))
        fed = fed or isinstance(stage.stdin, FromFile | FromText)
        gate = Gate(stage.env, frozenset(used), fed) if stage.env or used or fed else NO_GATE
        verdict = self.policy.judge_argv(stage.argv, place, gate)
        if verdict.decision is Decision.DENY or not checks:
            return verdict
        if not used <= self.policy.redirect:
            kinds = ", ".join(sorted(used - self.policy.redirect))
            text = f"{sentence('redirect-denied')}: [plan] redirect does not name {kinds}"
            return self.refused(verdict, "redirect-denied", text)
        for check in checks:
            reason = (self.writable if check.writable else self.readable)(check.path, place)
            if reason is not None:
                text = f"{sentence(reason)}: redirection to or from {check.path!r}"
                return self.refused(verdict, reason, text)
        return with_checks(verdict, (*verdict.checks, *checks))

    def refused(self, verdict: Verdict, reason: str, message: str) -> Verdict:
        return Verdict(
            Decision.DENY,
            reason,
            -1,
            message,
            verdict.rule,
            verdict.line,
            program=verdict.program,
            search=verdict.search,
            conditions=verdict.conditions,
        )


def with_checks(verdict: Verdict, checks: tuple[PathCheck, ...]) -> Verdict:
    """The same verdict with more paths to verify."""
    return Verdict(
        verdict.decision,
        verdict.reason,
        verdict.word,
        verdict.message,
        verdict.rule,
        verdict.line,
        verdict.runs_code,
        verdict.program,
        verdict.search,
        verdict.conditions,
        checks,
        paths=verdict.paths,
        sha256=verdict.sha256,
    )


def moved(place: Place, path: str) -> Place:
    """The folder after a ``cd``."""
    if path.startswith("/"):
        return Place(place.root, path)
    return Place(place.root, "/".join((*place.parts, path)))


def judge_plan(policy: Policy, plan: Plan, root: str) -> Verdict:
    """One deny denies the plan before anything starts; one ask asks once for all of it."""
    return PlanJudge(policy, plan, root).verdict()


def judge_tool(policy: Policy, name: str, paths: Sequence[str], root: str) -> Verdict:
    """A tool call, judged as the words NAME PATH... by the lines of [tools]."""
    tools = policy.tools
    if tools is None or name not in tools.shelves:
        return Verdict(
            Decision.DENY,
            "tool-denied",
            0,
            f"{sentence('tool-denied')}: {name}",
            conditions=policy.conditions,
        )
    return tools.judge_argv((name, *paths), tools.place(root, "."), NO_GATE)
