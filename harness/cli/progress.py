"""A batch on a terminal: a bar, what runs now, and a line for what is over."""

from __future__ import annotations

import time

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from harness.batch.attempt import Attempt
from harness.batch.job import Entry
from harness.batch.summary import word
from harness.cli.terminal import inline, visible

__all__ = ["LiveWatch"]


class LiveWatch:
    """Redraws in place on standard error; finished attempts scroll above."""

    def __init__(self, total: int) -> None:
        self._console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("tasks"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        )
        self._task = self._bar.add_task("tasks", total=total)
        self._running: dict[tuple[str, int], float] = {}
        self._live = Live(console=self._console, refresh_per_second=4, get_renderable=self._draw)

    def __enter__(self) -> LiveWatch:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def began(self, entry: Entry, number: int) -> None:
        """An attempt starts."""
        self._running[entry.name, number] = time.monotonic()

    def ended(self, attempt: Attempt, done: int, total: int) -> None:
        """An attempt is over."""
        self._running.pop((attempt.task, attempt.number), None)
        self._bar.update(self._task, completed=done, total=total)
        style = "green" if attempt.passed else "red"
        line = Text(inline(f"{attempt.task} #{attempt.number}  "))
        line.append(word(attempt.exit_code), style)
        line.append(f"  {attempt.seconds:.1f} s", "dim")
        self._console.print(line)

    def say(self, text: str) -> None:
        """A remark."""
        self._console.print(Text(visible(text), "dim"))

    def _draw(self) -> Group:
        now = time.monotonic()
        lines = [
            Text(inline(f"  {name} #{number}  {now - began:.0f} s"), "dim", no_wrap=True)
            for (name, number), began in self._running.items()
        ]
        return Group(self._bar, *lines)
