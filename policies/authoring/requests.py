"""answer_request: one JSON value in, one verdict out, as ``policy judge`` reads and prints."""

from __future__ import annotations

import json
from typing import Any

from policies.command import Command
from policies.commandline import LineError, parse_line
from policies.policy import Policy
from policies.verdict import Verdict

__all__ = ["answer_request"]


def answer_request(policy: Policy, text: str, *, root: str = "/workspace") -> dict[str, Any]:
    """The verdict on one line of input.

    Args:
        policy: the policy.
        text: a JSON list of words, or ``{"argv": [...], "cwd": "."}``, or ``{"line": "a | b"}``.
        root: absolute path of the workspace in the box.

    Raises:
        ValueError: the text is none of these.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None
    if isinstance(value, list):
        value = {"argv": value}
    if not isinstance(value, dict):
        raise TypeError('a list of words, {"argv": [...]} or {"line": "..."} is expected')
    cwd = value.get("cwd", ".")
    if not isinstance(cwd, str):
        raise TypeError("cwd must be a string")
    if isinstance(value.get("line"), str):
        return line_answer(policy, value["line"], cwd, root)
    argv = value.get("argv")
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        raise TypeError("argv must be a list of strings")
    return answer(policy.judge(Command(tuple(argv), cwd), root=root))


def line_answer(policy: Policy, line: str, cwd: str, root: str) -> dict[str, Any]:
    """The verdict on a command line; what cannot be read is a denial."""
    try:
        plan = parse_line(line, root=root, cwd=cwd)
    except LineError as error:
        return {
            "decision": "deny",
            "rule": None,
            "reason": error.reason,
            "column": error.column,
            "message": error.message,
            "runs_code": False,
            "isolation": policy.isolation.label,
        }
    verdict = policy.judge_plan(plan, root=root)
    found = answer(verdict)
    found["step"] = verdict.step
    found["stage"] = verdict.stage
    return found


def answer(verdict: Verdict) -> dict[str, Any]:
    """A verdict as JSON."""
    found: dict[str, Any] = {
        "decision": verdict.decision.label,
        "rule": verdict.rule,
        "reason": verdict.reason,
        "word": verdict.word,
        "message": verdict.message,
        "runs_code": verdict.runs_code,
        "isolation": verdict.conditions.isolation.label,
    }
    return found
