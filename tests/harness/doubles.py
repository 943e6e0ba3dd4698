"""Small stand-ins for what the harness stands on: a judge, replies and calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.agent import Agent
from harness.bus import Events
from harness.event import Event
from harness.message import ToolCall
from harness.model import Reply, Usage
from harness.models.scripted import ScriptedModel
from harness.tool import Execution, Tool
from policies import (
    Budgets,
    Command,
    Conditions,
    Decision,
    Limits,
    PathCheck,
    Pipeline,
    Plan,
    Verdict,
)
from runners import Capture, Ending, Outcome

SEARCH = ("/usr/bin", "/bin")


@dataclass
class TableJudge:
    """Judges by tables: programs and tools to decisions; what is not named is denied."""

    programs: dict[str, str] = field(default_factory=dict)
    tools: dict[str, str] = field(default_factory=dict)
    conditions: Conditions = Conditions()
    limits: Limits = Limits()
    budgets: Budgets = Budgets()
    name: str = "table"
    digest: str = "sha256:table"
    checks: dict[str, tuple[PathCheck, ...]] = field(default_factory=dict)
    seen: list[Any] = field(default_factory=list)

    def judge(self, command: Command, *, root: str = "/workspace") -> Verdict:
        return self._argv(command.argv)

    def judge_plan(self, plan: Plan, *, root: str = "/workspace") -> Verdict:
        self.seen.append(plan)
        stages = [
            self._argv(stage.argv)
            for step in plan.steps
            if isinstance(step, Pipeline)
            for stage in step.stages
        ]
        if not stages:
            return Verdict(Decision.ALLOW, "ok")
        worst = max(stages, key=lambda verdict: verdict.decision)
        return Verdict(
            worst.decision,
            worst.reason,
            worst.word,
            worst.message,
            worst.rule,
            conditions=self.conditions,
            stages=tuple(stages),
            stage=stages.index(worst),
        )

    def judge_tool(
        self, name: str, paths: Sequence[str] = (), *, root: str = "/workspace"
    ) -> Verdict:
        self.seen.append((name, tuple(paths)))
        decision = self.tools.get(" ".join((name, *paths)), self.tools.get(name, "deny"))
        return self._verdict(decision, name, "tool-denied")

    def _argv(self, argv: Sequence[str]) -> Verdict:
        decision = self.programs.get(" ".join(argv), self.programs.get(argv[0], "deny"))
        return self._verdict(decision, argv[0], "no-program")

    def _verdict(self, decision: str, name: str, reason: str) -> Verdict:
        made = Decision[decision.upper()]
        return Verdict(
            made,
            reason if made is Decision.DENY else "ok",
            0 if made is Decision.DENY else -1,
            f"no rule names {name}" if made is Decision.DENY else f"may {name} run?",
            f"{name}-rule",
            program=name,
            search=() if name.startswith("./") else SEARCH,
            conditions=self.conditions,
            checks=self.checks.get(name, ()),
        )


def call(name: str, arguments: object = None, id: str = "c1") -> ToolCall:  # noqa: A002
    """A call whose arguments are given as data, or as raw text."""
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return ToolCall(id, name, raw)


def reply(*calls: ToolCall, text: str = "", usage: Usage | None = None) -> Reply:
    return Reply(text, calls, usage)


def asks(*names_and_arguments: tuple[str, object]) -> Reply:
    """A reply that calls these, with ids c1, c2, ..."""
    pairs = enumerate(names_and_arguments, 1)
    return Reply("", tuple(call(name, given, f"c{n}") for n, (name, given) in pairs))


def says(text: str) -> Reply:
    return Reply(text)


class Recorder:
    """Keeps all events of a run."""

    def __init__(self, events: Events) -> None:
        self.events: list[Event] = []
        events.subscribe(self.events.append)

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.events]

    def of(self, kind: str) -> list[Any]:
        return [event.payload for event in self.events if event.type == kind]


def tool_of(name: str = "echo", body: Any = None, **more: Any) -> Tool:
    """A tool with open parameters; its default body gives back the text."""

    async def echo(arguments: dict[str, Any], _: Execution) -> Any:
        return arguments.get("text", "")

    settings: dict[str, Any] = {
        "name": name,
        "description": f"The tool {name}.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
        "execute": body or echo,
    }
    return Tool(**{**settings, **more})


def agent_of(*replies: Reply, **more: Any) -> Agent:
    """An agent on a scripted model that keeps its requests."""
    return Agent(ScriptedModel(replies, keep=True), **more)


def exited(code: int = 0, out: str = "", err: str = "", codes: tuple[int, ...] = ()) -> Outcome:
    return Outcome(
        Ending.EXITED,
        code,
        stdout=captured(out),
        stderr=captured(err),
        codes=codes or (code,),
        wall_seconds=0.01,
    )


def captured(text: str) -> Capture:
    data = text.encode()
    return Capture(data, b"", len(data))
