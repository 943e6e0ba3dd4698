"""A policy whose demand on the box is lowered to what the operator accepts (decision 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from policies import Command, Isolation, Plan, Policy, Verdict

__all__ = ["AcceptedPolicy", "accept"]


def accept(policy: Policy, level: Isolation | None) -> Policy:
    """The policy, judged for a box of the level that the operator accepts; never stricter."""
    return policy if level is None else AcceptedPolicy(policy, level)


class AcceptedPolicy(Policy):
    """Says the same as its policy in everything but the isolation level that it asks for."""

    def __init__(self, policy: Policy, level: Isolation) -> None:
        vars(self).update(vars(policy))
        self.level = level

    def judge(self, command: Command, *, root: str = "/workspace") -> Verdict:
        """The policy's verdict, at the accepted level."""
        return self.lowered(super().judge(command, root=root))

    def judge_plan(self, plan: Plan, *, root: str = "/workspace") -> Verdict:
        """The policy's verdict, at the accepted level."""
        return self.lowered(super().judge_plan(plan, root=root))

    def judge_tool(
        self, name: str, paths: Sequence[str] = (), *, root: str = "/workspace"
    ) -> Verdict:
        """The policy's verdict, at the accepted level."""
        return self.lowered(super().judge_tool(name, paths, root=root))

    def lowered(self, verdict: Verdict) -> Verdict:
        """A verdict that asks for no more than the accepted level, stages included."""
        asked = verdict.conditions.isolation
        conditions = replace(verdict.conditions, isolation=min(asked, self.level))
        stages = tuple(self.lowered(stage) for stage in verdict.stages)
        return replace(verdict, conditions=conditions, stages=stages)
