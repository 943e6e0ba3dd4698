"""What is known of an action before the box is asked: its plan and its verdict."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace

from harness.action.show import plan_line
from harness.judge import Judge
from policies import Cd, Command, Decision, Isolation, Pipeline, Plan, Verdict

__all__ = ["Considered", "Placed", "consider", "denial", "placed"]


@dataclass(frozen=True, slots=True)
class Considered:
    """An action with its verdict.

    Attributes:
        plan: what would run; None when the line could not be read.
        verdict: what the policy says of it, and whether this box is strong enough.
        root: absolute path of the workspace in the box.
    """

    plan: Plan | None
    verdict: Verdict
    root: str

    @property
    def summary(self) -> str:
        """What would run, for the operator's question."""
        if self.plan is None:
            return ""
        where = "" if self.plan.cwd in (".", self.root) else f"(in {self.plan.cwd}) "
        return where + plan_line(self.plan)


@dataclass(frozen=True, slots=True)
class Placed:
    """A step of a plan with the folder that it starts in, and its stages' verdicts."""

    index: int
    step: Pipeline | Cd
    cwd: str
    verdicts: tuple[Verdict, ...] = ()


def denial(verdict: Verdict, reason: str, message: str) -> Verdict:
    """The same verdict as a denial for another reason."""
    return replace(verdict, decision=Decision.DENY, reason=reason, message=message)


def consider(
    policy: Judge,
    action: Command | Plan | str,
    *,
    root: str,
    isolation: Isolation,
    cwd: str = ".",
    network: bool = False,
) -> Considered:
    """Read and judge an action; nothing is asked of a box.

    Args:
        policy: the judge.
        action: a command, a plan, or a command line in the accepted subset.
        root: absolute path of the workspace in the box.
        isolation: the level that the box really has.
        cwd: the folder that a line starts in; commands and plans have their own.
        network: an egress broker is running.
    """
    if isinstance(action, str):
        read = _read_line(action, root, cwd)
        if isinstance(read, Verdict):
            return Considered(None, read, root)
        plan = read
    else:
        plan = action.plan() if isinstance(action, Command) else action
    verdict = policy.judge_plan(plan, root=root)
    if verdict.decision is not Decision.DENY:
        verdict = _conditions(verdict, isolation, network=network)
    return Considered(plan, verdict, root)


def _read_line(line: str, root: str, cwd: str) -> Plan | Verdict:
    from policies import LineError, parse_line

    try:
        return parse_line(line, root=root, cwd=cwd)
    except LineError as error:
        return Verdict(
            Decision.DENY, error.reason, message=f"column {error.column}: {error.message}"
        )


def _conditions(verdict: Verdict, isolation: Isolation, *, network: bool) -> Verdict:
    """The verdict, unless this box does not meet its conditions."""
    need = max([verdict.conditions.isolation, *(v.conditions.isolation for v in verdict.stages)])
    if isolation < need:
        message = f"it needs isolation level {need.label}, and this session has {isolation.label}"
        return denial(verdict, "isolation", message)
    if not network and any(v.conditions.network for v in (verdict, *verdict.stages)):
        message = "it needs the network, and this session has none"
        return denial(verdict, "network-unavailable", message)
    return verdict


def placed(plan: Plan, verdict: Verdict) -> list[Placed]:
    """The steps with their folders; ``cd`` is structure, so these are known beforehand."""
    made: list[Placed] = []
    cwd, next_stage = plan.cwd, 0
    for index, step in enumerate(plan.steps):
        if isinstance(step, Cd):
            made.append(Placed(index, step, cwd))
            cwd = step.path if step.path.startswith("/") else posixpath.join(cwd, step.path)
            continue
        end = next_stage + len(step.stages)
        made.append(Placed(index, step, cwd, verdict.stages[next_stage:end]))
        next_stage = end
    return made
