"""Records of made-up runs, through the real event types and the real log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.record import EventLog

HOSTILE = (
    "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
    "</script><!--\x1b[31mred\x1b[0m \u202egnp.exe\u202c \u0000 \u200b \ud800"
)


class Writer:
    """Writes records of a run folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.log = EventLog.create(folder / "events.jsonl", run="20261130-demo")
        self.step = 0
        self.calls = 0

    def start(self, **facts: Any) -> None:
        budgets = {"steps": 20, "tool_calls": 50, "wall_seconds": 600}
        policy = {"name": "python-dev", "digest": "sha256:" + "ab" * 32}
        self.log.append(
            "run/start", kind="run", agent="model", policy=policy, budgets=budgets, **facts
        )

    def begin(self, text: str = "") -> None:
        self.step += 1
        self.log.append("step/start", step=self.step)
        self.log.append("model/request", step=self.step, messages=2 * self.step, digest="0" * 64)
        usage = {"input_tokens": 900 + self.step, "output_tokens": 40}
        self.log.append(
            "model/reply", step=self.step, text=text, calls=[], duration_seconds=0.8, usage=usage
        )

    def call(
        self,
        name: str,
        arguments: object,
        content: str = "",
        *,
        ok: bool = True,
        verdict: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        self.calls += 1
        call = f"c{self.calls}"
        raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
        at = {"step": self.step, "call": call}
        self.log.append("tool/call", **at, name=name, arguments=raw, origin="model")
        judged = {"decision": "allow", "reason": "ok", "rule": "files", **(verdict or {})}
        self.log.append("tool/verdict", **at, name=name, **judged)
        self.log.append(
            "tool/result",
            **at,
            name=name,
            ok=ok,
            content=content,
            duration_seconds=0.02 * self.calls,
            **more,
        )

    def finish(self) -> None:
        self.log.append("step/end", step=self.step, calls=1, duration_seconds=1.0)

    def end(self, result: dict[str, Any], patch: str = "") -> None:
        self.log.append("run/end", status=result["status"])
        log = {"head": self.log.head, "records": self.log.count}
        self.log.close()
        (self.folder / "result.json").write_text(json.dumps({**result, "log": log}))
        (self.folder / "patch.diff").write_bytes(patch.encode("utf-8", "surrogatepass"))


PATCH = """diff --git a/src/total.py b/src/total.py
index 1111111..2222222 100644
--- a/src/total.py
+++ b/src/total.py
@@ -3,5 +3,5 @@ def total(prices: list[float]) -> float:
     result = 0.0
-    for price in prices[1:]:
+    for price in prices:
         result += price
     return result
"""
RESULT = {
    "schema": 1,
    "run": "20261130-demo",
    "task": "stockade/demo",
    "status": "completed",
    "verdict": "passed",
    "exit_code": 0,
    "runner": "bubblewrap",
    "isolation": "namespace",
    "spent": {"steps": 5, "tool_calls": 6, "wall_seconds": 7.31},
    "answer": "The loop skipped the first price; it no longer does.",
}


def write_demo(folder: Path) -> Path:
    """A small run with all that a report shows."""
    w = Writer(folder)
    w.start(
        task="stockade/demo",
        model="scripted:script.json",
        instruction="The total of a basket leaves out its first item. Find out why and fix it.",
    )
    w.begin("I look for the function that adds the prices up.")
    w.call("search_text", {"pattern": "def total"}, "src/total.py:3: def total(prices):")
    w.call("read_file", {"path": "src/total.py"}, "def total(prices):\n    result = 0.0\n")
    w.finish()
    w.begin("First I see whether the tests fail.")
    w.call(
        "run_command",
        {"argv": ["python", "-m", "pytest", "-q"]},
        "F\n1 failed in 0.03s",
        ok=False,
        verdict={"rule": "pytest", "runs_code": True},
        outcome={"outcomes": [{"ending": "exited", "code": 1, "wall_seconds": 0.41}]},
        error={"type": "ToolFailed", "code": "EXIT", "message": "exit 1"},
    )
    w.finish()
    w.begin("I wonder what the history says.")
    w.call(
        "run_command",
        {"argv": ["git", "-c", "core.pager=id", "log"]},
        "Denied: git does not take -c before its sub-command here.",
        ok=False,
        verdict={
            "decision": "deny",
            "reason": "unknown-option",
            "rule": "git-read",
            "word": 1,
            "line": "git log [--oneline] [-n INT(1..1000)] [REV] [-- PATH...]",
            "message": "word 1, '-c', is no option of this line",
        },
    )
    w.finish()
    w.begin("So the loop starts at the second price.")
    w.call(
        "edit_file",
        {"path": "src/total.py", "old": "for price in prices[1:]:", "new": "for price in prices:"},
        "edited",
    )
    w.call(
        "run_command",
        {"line": "python -m pytest -q | tail -1"},
        "1 passed in 0.02s",
        verdict={"rule": "pytest", "runs_code": True},
    )
    w.finish()
    w.begin()
    w.call("finish", {"answer": RESULT["answer"]}, "done", verdict={"rule": None})
    w.finish()
    w.log.append("notice", kind="left out", text=".env: may hold secrets")
    w.log.append("verify/start", argv=["python3", "-m", "pytest", "-q", "/tests"])
    w.log.append("verify/end", verdict="passed", reason="all named tests passed", output="3 passed")
    (folder / "artifacts").mkdir()
    (folder / "artifacts" / "output-3.txt").write_text("x" * 5000)
    w.end(RESULT, PATCH)
    return folder


def write_hostile(folder: Path) -> Path:
    """A run in which every text tries to be more than text."""
    w = Writer(folder)
    w.start(task=HOSTILE, model=HOSTILE, instruction=HOSTILE)
    w.begin(HOSTILE)
    w.call(
        HOSTILE,
        {"argv": [HOSTILE, "javascript:window.hacked=1"]},
        HOSTILE,
        verdict={"decision": "deny", "message": HOSTILE, "rule": HOSTILE, "line": HOSTILE},
    )
    w.call("read_file", HOSTILE, "A" * (10 << 20))
    w.finish()
    w.log.append("notice", kind=HOSTILE, text=HOSTILE)
    w.end({**RESULT, "answer": HOSTILE}, HOSTILE + "\n")
    return folder


def write_long(folder: Path, events: int) -> Path:
    """A run of many events."""
    w = Writer(folder)
    w.start(task="stockade/long", model="scripted:long.json")
    while w.log.count < events:
        w.begin(f"step {w.step + 1} looks at one more file")
        w.call("read_file", {"path": f"src/file_{w.step}.py"}, "line\n" * 40)
        w.finish()
    w.end(RESULT)
    return folder
