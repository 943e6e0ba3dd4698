"""A run on a terminal: what is over scrolls by, what goes on stays below with the budgets."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from harness.bus import record_fields
from harness.cli.narrator import shorten
from harness.cli.terminal import inline, visible
from harness.cli.timeline import STYLES, VERDICTS, Timeline, cut_cells, drawn
from harness.cli.wording import brief, duration
from harness.event import (
    ApprovalAsked,
    ApprovalDecided,
    Event,
    ModelReplied,
    ModelRequested,
    Payload,
    RunStart,
    StepEnd,
    StepStart,
    ToolCalled,
    ToolFinished,
    ToolJudged,
    VerifyEnd,
    VerifyStart,
)

if TYPE_CHECKING:
    from harness.run import Report

__all__ = ["LiveNarrator"]

PATCH = {"+": "green", "-": "red", "@": "cyan"}


class LiveNarrator:
    """An audience that redraws the last lines of a terminal; use it as a context manager."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, highlight=False)
        self.timeline = Timeline()
        self.began = time.monotonic()
        self.doing = "opening a box"
        self.since = self.began
        self.running: dict[str, tuple[str, float]] = {}
        self.budgets: Mapping[str, Any] = {}
        self.steps = self.calls = self.denied = self.tokens = 0
        self.spinner = Spinner("dots")
        self.live = Live(
            console=self.console,
            get_renderable=self.draw,
            refresh_per_second=8,
            transient=True,
        )

    def __enter__(self) -> LiveNarrator:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()

    def say(self, text: str) -> None:
        """A remark."""
        self.console.print(Text(visible(text), "yellow"))

    def hear(self, event: Event) -> None:
        """What is over becomes a line; what goes on is drawn below."""
        payload = event.payload
        record = {
            "type": event.type,
            "run": event.run,
            "t": event.t,
            **record_fields(payload, event.step, event.call),
        }
        for line in self.timeline.take(record):
            if event.type == "run/end":
                continue  # `conclude` says it once everything is written
            self.console.print(drawn(line, self.console.width))
        self._follow(event)

    def _follow(self, event: Event) -> None:
        match event.payload:
            case RunStart(facts=facts):
                self.budgets = facts.get("budgets") or {}
            case StepStart():
                self.steps = event.step
            case ModelRequested():
                self._do("waiting for the model")
            case ModelReplied(usage=usage):
                self.tokens += sum(
                    int((usage or {}).get(name) or 0) for name in ("input_tokens", "output_tokens")
                )
                self._do("")
            case StepEnd():
                self._do("going on")
            case VerifyStart():
                self._do("verifying")
            case VerifyEnd():
                self._do("closing the box")
            case _:
                self._follow_call(event.payload, event.call or "")

    def _follow_call(self, payload: Payload, key: str) -> None:
        match payload:
            case ToolCalled(name=name, arguments=arguments):
                self.running[key] = (brief(name, arguments), time.monotonic())
            case ToolJudged(decision="deny"):
                self.denied += 1
                self.running.pop(key, None)
            case ApprovalAsked():
                self.live.stop()  # whoever is asked needs the terminal
            case ApprovalDecided():
                self.live.start()
            case ToolFinished():
                self.running.pop(key, None)
                self.calls += 1
            case _:
                pass

    def _do(self, what: str) -> None:
        self.doing, self.since = what, time.monotonic()

    def draw(self) -> RenderableType:
        """What goes on, and how much of each budget is spent."""
        width, now = self.console.width, time.monotonic()
        lines = [self._going_on(what, since, width) for what, since in self.running.values()]
        if not lines and self.doing:
            lines = [self._going_on(self.doing, self.since, width)]
        if lines:
            frame = self.spinner.render(now)
            lines[0] = Text.assemble("   ", frame if isinstance(frame, Text) else "", " ", lines[0])
            lines[1:] = [Text.assemble("     ", line) for line in lines[1:]]
        return Group(*lines, self._bar(now, width))

    def _going_on(self, what: str, since: float, width: int) -> Text:
        took = duration(max(0.0, time.monotonic() - since))
        text = cut_cells(visible(what), max(10, width - 20))
        return Text.assemble((text, "bold"), "  ", (took, "dim"), no_wrap=True)

    def _bar(self, now: float, width: int) -> Text:
        parts = [
            self._share("step", self.steps, self.budgets.get("steps")),
            self._share("calls", self.calls, self.budgets.get("tool_calls")),
            self._time(now - self.began),
        ]
        if self.tokens:
            parts.append(Text(f"{self.tokens:,} tokens", "dim"))
        if self.denied:
            parts.append(Text(f"{self.denied} denied", "red"))
        bar = Text("     ", no_wrap=True, overflow="ellipsis").append_text(
            Text(" · ", "dim").join(parts)
        )
        bar.truncate(width, overflow="ellipsis")
        return bar

    def _share(self, name: str, used: int, limit: object) -> Text:
        if not isinstance(limit, int | float) or not limit:
            return Text(f"{name} {used}", "dim")
        return Text(f"{name} {used} of {limit:g}", _pressure(used / limit))

    def _time(self, seconds: float) -> Text:
        limit = self.budgets.get("wall_seconds")
        if not isinstance(limit, int | float) or not limit:
            return Text(duration(seconds), "dim")
        return Text(f"{duration(seconds)} of {duration(limit)}", _pressure(seconds / limit))

    def conclude(self, report: Report) -> None:
        """The end of a run: the patch, the verdict, and where everything is."""
        out, record = self.console, report.record
        if report.patch:
            out.print()
            for line in shorten(report.patch.decode("utf-8", "replace")).splitlines():
                head = line.startswith(("+++", "---", "diff ", "index "))
                out.print(
                    Text(visible(line), "bold" if head else PATCH.get(line[:1], "")),
                    soft_wrap=True,
                )
        spent, verdict = record["spent"], record["verdict"]
        status = record["status"].replace("_", " ")
        badge = f" {status if verdict == 'none' else verdict} "
        took = duration(time.monotonic() - self.began)
        counts = f"{spent.get('steps', 0)} steps, {spent.get('tool_calls', 0)} tool calls"
        rest = f"  {status} · {counts} · {took} · exit {record['exit_code']}"
        style = STYLES[VERDICTS.get(verdict, "head")]
        out.print()
        out.print(Text.assemble((badge, f"reverse {style}"), rest))
        places = [("log", report.folder.events), ("report", report.folder.report)]
        if report.folder.patch.exists():
            places.insert(1, ("patch", report.folder.patch))
        for name, place in places:
            out.print(Text.assemble((f"{name:<7}", "dim"), inline(place)), soft_wrap=True)
        out.print(Text.assemble(("head   ", "dim"), record["log"]["head"]), soft_wrap=True)


def _pressure(share: float) -> str:
    """Dim while there is plenty, red when it is spent."""
    return "red" if share >= 1 else "yellow" if share >= 0.8 else "dim"
