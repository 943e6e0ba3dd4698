"""Every call of a recorded run judged under another policy: no model, no box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.arguments import ArgumentsError, decode_arguments
from harness.judge import strictest
from harness.recall import RecalledCall, recall
from harness.registry import Registry
from harness.replay.replaying import Box, box_of
from harness.signal import Signal
from harness.tool import Execution, Tool
from harness.tools import builtin_tools
from policies import Decision, Policy, Verdict
from runners import ScriptedSession

__all__ = ["Redecision", "redecide"]

SINGLE = "exec"
"""The call of `stockade exec`: one command, asked for by the operator."""


@dataclass(frozen=True, slots=True)
class Redecision:
    """One call: what was decided then, and what this policy says.

    Attributes:
        run, step, call: which call it is; step 0 is outside of steps.
        tool: its name.
        action: what was to be done, for people.
        before: allow, ask or deny, as recorded.
        after: the verdict of the other policy.
    """

    run: str
    step: int
    call: str
    tool: str
    action: str
    before: str
    after: Verdict

    @property
    def changed(self) -> bool:
        """Whether the decision is another one now."""
        return self.before != self.after.decision.label

    @property
    def narrowed(self) -> bool:
        """Whether it is stricter now."""
        return self.after.decision > Decision[self.before.upper()]

    def record(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "run": self.run,
            "step": self.step,
            "call": self.call,
            "tool": self.tool,
            "action": self.action,
            "before": self.before,
            "after": self.after.decision.label,
            "reason": self.after.reason,
            "rule": self.after.rule,
            "message": self.after.message,
        }


async def redecide(records: Sequence[Mapping[str, Any]], policy: Policy) -> list[Redecision]:
    """Judge every call that was judged then, in order.

    Calls that never came to the policy (unknown tools, arguments that did not fit) are left out:
    another policy changes nothing for them. Real paths are not looked at: there is no box.
    """
    run, box = recall(records), box_of(records)
    session = ScriptedSession(isolation=box.isolation, workspace=box.root)
    registry = Registry(builtin_tools(session, policy))
    made: list[Redecision] = []
    calls = [(step.number, call) for step in run.steps for call in step.calls]
    calls += [(0, call) for call in run.others if call.name == SINGLE]
    for step, call in calls:
        found = await _judged(registry, policy, box, step, call)
        if found is None or call.verdict is None:
            continue
        before = str(call.verdict.get("decision"))
        shown = _shown(call)
        made.append(Redecision(run.run, step, call.id, call.name, shown, before, found))
    return made


async def _judged(
    registry: Registry, policy: Policy, box: Box, step: int, call: RecalledCall
) -> Verdict | None:
    entry = registry.entry("run_command" if call.name == SINGLE else call.name)
    if entry is None or entry.tool.unjudged or call.verdict is None:
        return None
    tool = entry.tool
    arguments = _arguments(call)
    if arguments is None or entry.parameters.violations(arguments):
        return None
    if call.name == SINGLE and not arguments:
        return None  # a log that does not say which command it was
    if tool.rules is not None and list(tool.rules(arguments)):
        return None
    if tool.prepare is not None:
        execution = Execution(call.id, call.name, step, Signal())
        verdict: Verdict = (await tool.prepare(arguments, execution))[0]
        return verdict
    return _tool_verdict(tool, policy, box, arguments)


def _tool_verdict(tool: Tool, policy: Policy, box: Box, arguments: dict[str, Any]) -> Verdict:
    groups = tool.paths(arguments) if tool.paths is not None else ()
    found = [policy.judge_tool(tool.name, group, root=box.root) for group in groups or ((),)]
    return strictest(found)


def _arguments(call: RecalledCall) -> dict[str, Any] | None:
    """The arguments as they came to the policy, None where they cannot have."""
    try:
        return decode_arguments(call.arguments)
    except ArgumentsError:
        return None


def _shown(call: RecalledCall) -> str:
    arguments = _arguments(call)
    if arguments is None:
        return call.arguments[:200]
    if isinstance(arguments.get("line"), str):
        return str(arguments["line"])
    if isinstance(arguments.get("argv"), list):
        return " ".join(map(str, arguments["argv"]))
    if "path" in arguments:
        return f"{call.name} {arguments['path']}"
    return f"{call.name} {call.arguments}"[:200]
