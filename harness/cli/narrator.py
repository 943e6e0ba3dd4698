"""Tells a person what a run does, one plain line each, on standard error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.cli.terminal import inline, say
from harness.cli.wording import brief, cut, duration, ending
from harness.event import (
    Event,
    ModelReplied,
    Notice,
    RunStart,
    ToolCalled,
    ToolFinished,
    ToolJudged,
    VerifyEnd,
    VerifyStart,
)

if TYPE_CHECKING:
    from harness.run import Report

__all__ = ["Narrator"]

WIDTH = 100
PATCH_LINES = 60
PLAIN = {"note", "error", "left-out", "refused", "put-aside", "weaker"}
"""Kinds of notices whose text says it all."""


class Narrator:
    """An audience that writes lines; what models and programs wrote is made visible first."""

    def __init__(self) -> None:
        self.calls: dict[str, str] = {}

    def __enter__(self) -> Narrator:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is kept open."""

    def say(self, text: str) -> None:
        """A remark."""
        say(indented(text))

    def hear(self, event: Event) -> None:
        """One line for what a person would want to know."""
        line = self.line(event)
        if line:
            say(line)

    def line(self, event: Event) -> str:
        """The line, or nothing."""
        match event.payload:
            case RunStart(facts=facts):
                return inline(
                    f"run {event.run}: {facts.get('task')}, policy {name_of(facts, 'policy')}"
                )
            case ModelReplied(text=text) if text.strip():
                return f"  {event.step:>3}  {cut(text, WIDTH)}"
            case ToolCalled(name=name, arguments=arguments):
                self.calls[event.call or name] = brief(name, arguments)
            case ToolJudged(decision=decision, message=message) if decision != "allow":
                return f"       {decision}: {cut(message or '', WIDTH)}"
            case ToolFinished(name=name):
                return self.finished(event, self.calls.pop(event.call or name, name))
            case Notice(kind=kind, text=text):
                return indented(text if kind in PLAIN else f"{kind}: {text}")
            case VerifyStart():
                return "verifying in a fresh session"
            case VerifyEnd(facts=facts):
                return verified(facts)
            case _:
                pass
        return ""

    def finished(self, event: Event, what: str) -> str:
        """A call with what came of it; the exit code of a program is its own word."""
        payload = event.payload
        assert isinstance(payload, ToolFinished)
        how = ending(payload.outcome)
        tail = how or "ok" if payload.ok else f"error: {cut(payload.content, WIDTH)}"
        took = duration(payload.duration_seconds)
        return f"  {event.step:>3}  {cut(what, WIDTH)} · {tail} · {took}"

    def conclude(self, report: Report) -> None:
        """The end of a run: the patch, the verdict, and where everything is."""
        record = report.record
        if report.patch:
            say(shorten(report.patch.decode("utf-8", "replace")))
        spent = record["spent"]
        say(
            f"{record['verdict']} · {record['status']} · {spent.get('steps', 0)} steps, "
            f"{spent.get('tool_calls', 0)} tool calls · exit {record['exit_code']}"
        )
        say(inline(f"log    {report.folder.events}"))
        if report.folder.patch.exists():
            say(inline(f"patch  {report.folder.patch}"))
        say(f"head   {record['log']['head']}")


def indented(text: str) -> str:
    """A remark whose further lines cannot be taken for lines of ours, whoever wrote them."""
    return text.replace("\n", "\n  ")


def verified(facts: Mapping[str, Any]) -> str:
    """The verdict and its grounds, and what was found in the way."""
    lines = [inline(f"verification: {facts['verdict']}: {facts['reason']}")]
    lines += [
        inline(f"  {one['path']}: {one['reason']}{', left out' if one['left_out'] else ''}")
        for one in facts.get("findings", ())
    ]
    lines += [inline(f"  not passed: {test}") for test in facts.get("missing", ())]
    return "\n".join(lines)


def name_of(facts: Mapping[str, Any], key: str) -> str:
    """The name in a table of a record."""
    table = facts.get(key)
    return str(table.get("name")) if isinstance(table, Mapping) else str(table)


def shorten(patch: str) -> str:
    """A patch that does not fill the screen; the rest is in its file."""
    lines = patch.splitlines()
    if len(lines) <= PATCH_LINES:
        return "\n".join(lines)
    rest = len(lines) - PATCH_LINES
    return "\n".join([*lines[:PATCH_LINES], f"[{rest} more lines in the patch file]"])
