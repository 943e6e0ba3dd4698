"""The records of a run as lines for people."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from harness.cli.live import LiveNarrator
from harness.cli.timeline import Timeline, drawn
from harness.cli.wording import brief, duration
from harness.event import (
    Event,
    ModelReplied,
    ModelRequested,
    Payload,
    RunStart,
    StepStart,
    ToolCalled,
    ToolFinished,
    ToolJudged,
)


def lines_of(*records: dict[str, Any], width: int = 100) -> list[str]:
    timeline = Timeline()
    return [drawn(line, width).plain for one in records for line in timeline.take(one)]


CALL = {"step": 1, "call": "c1", "t": 11.5, "name": "run_command"}
COMMAND = '{"argv": ["python3", "-m", "pytest"]}'


def called(result: dict[str, Any], verdict: dict[str, Any], width: int = 100) -> list[str]:
    return lines_of(
        {"type": "step/start", "t": 10.0},
        {**CALL, "type": "tool/call", "arguments": COMMAND},
        {**CALL, "type": "tool/verdict", **verdict},
        {**CALL, "type": "tool/result", "t": 12.0, "duration_seconds": 0.5, **result},
        width=width,
    )


def test_a_program_that_failed_shows_its_exit_code_and_the_rule_that_let_it_run() -> None:
    outcome = {"outcomes": [{"ending": "exited", "code": 1}]}
    [line] = called({"ok": True, "outcome": outcome}, {"decision": "allow", "rule": "tests"})
    assert line.split() == [
        "1", "0:01.5", "0.50", "s", "run_command", "python3", "-m", "pytest", "exit", "1", "tests",
    ]  # fmt: skip


def test_a_denied_call_is_followed_by_its_reason() -> None:
    verdict = {"decision": "deny", "reason": "no-program", "message": "no rule names it"}
    line, why = called({"ok": False, "content": "Denied"}, verdict)
    assert (line.split()[-2:], why.split()[1:]) == (
        ["denied", "no-program"],
        ["no", "rule", "names", "it"],
    )


@pytest.mark.parametrize("width", [20, 40, 60, 76, 120])
def test_no_line_is_wider_than_the_terminal_whatever_it_says(width: int) -> None:
    wide = {"ok": False, "content": "漢字" * 300, "outcome": None}
    lines = called(wide, {"decision": "allow", "rule": "r" * 90}, width=width)
    assert max(cell_len(line) for line in lines) <= max(width, 40)


def test_what_programs_and_models_wrote_cannot_steer_the_terminal() -> None:
    lines = lines_of({"type": "model/reply", "t": 1.0, "step": 1, "text": "\x1b[2J\u202eevil"})
    assert "\\x1b[2J\\u202eevil" in lines[0]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("run_command", '{"argv": ["git", "log", "a b"]}', "run_command git log 'a b'"),
        ("run_command", '{"line": "ls | wc"}', "run_command ls | wc"),
        (
            "run_command",
            '{"plan": [{"cd": "src"}, "&&", [["ls"], {"argv": ["wc", "-l"]}]]}',
            "run_command cd src && ls | wc -l",
        ),
        ("edit_file", '{"path": "a.py", "old": "x", "new": "x\\ny"}', "edit_file a.py (-1 +2)"),
        ("write_file", '{"path": "a.py", "content": "gr\u00fcn"}', "write_file a.py (5 bytes)"),
        ("apply_patch", '{"patch": "--- a/x\\n+++ b/x\\n"}', "apply_patch x"),
        ("search_text", '{"pattern": "a b"}', "search_text 'a b' in ."),
        ("finish", '{"answer": "all\\ndone"}', "finish all done"),
        ("anything", "{broken", "anything {broken"),
        ("anything", "[1]", "anything [1]"),
        ("list_dir", "", "list_dir"),
    ],
)
def test_a_call_is_told_in_a_few_words(name: str, arguments: str, words: str) -> None:
    assert brief(name, arguments) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "<1 ms"), (0.012, "12 ms"), (0.0996, "0.10 s"), (9.99, "9.99 s"), (12.34, "12.3 s"),
        (100.0, "1 min 40 s"), (300.0, "5 min"), (3720.0, "1 h 02 min"),
    ],
)  # fmt: skip
def test_durations_can_be_compared_at_a_glance(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def screen(*happened: tuple[Payload, int, str | None], width: int = 90) -> tuple[str, str]:
    """What has scrolled by, and what the last lines show now."""
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=False, highlight=False)
    live = LiveNarrator(console)
    for payload, step, call in happened:
        live.hear(Event(payload, "r", step, call, time.monotonic()))
    scrolled = out.getvalue()
    with console.capture() as capture:
        console.print(live.draw())
    return scrolled, capture.get()


BEGIN = RunStart({"task": "demo", "budgets": {"steps": 4, "tool_calls": 9, "wall_seconds": 60}})
ASKED = ToolCalled("run_command", '{"argv": ["sleep", "9"]}')


def test_what_goes_on_stands_below_with_the_budgets() -> None:
    _, now = screen(
        (BEGIN, 0, None), (StepStart(), 1, None), (ModelRequested(1, "0"), 1, None),
        (ModelReplied("", (), 0.1, {"input_tokens": 1200, "output_tokens": 34}), 1, None),
        (ASKED, 1, "a"), (ToolJudged("run_command", "allow", "ok"), 1, "a"),
    )  # fmt: skip
    assert "run_command sleep 9" in now
    assert "step 1 of 4 · calls 0 of 9 ·" in now
    assert "of 1 min · 1,234 tokens" in now


def test_what_is_over_scrolls_by_and_is_no_longer_below() -> None:
    done = ToolFinished("run_command", ok=True, content="", duration_seconds=9.0)
    scrolled, now = screen((BEGIN, 0, None), (ASKED, 1, "a"), (done, 1, "a"))
    assert "run_command sleep 9" in scrolled
    assert ("sleep" in now, "calls 1 of 9" in now) == (False, True)


def test_a_denied_call_is_counted_and_is_not_shown_as_running() -> None:
    denied = ToolJudged("run_command", "deny", "no-program", "no rule names it")
    _, now = screen((BEGIN, 0, None), (ASKED, 1, "a"), (denied, 1, "a"))
    assert ("sleep" in now, "1 denied" in now) == (False, True)
