"""Recorded commands: from event logs of runs, or from plain files of commands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from policies.command import Cd, Pipeline, Plan
from policies.commandline import LineError, parse_line

__all__ = ["Recorded", "read_records"]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One argv that was run or asked for.

    Attributes:
        argv: its words.
        cwd: the folder it started in, as far as known.
        policy: digest of the policy that decided, or "".
    """

    argv: tuple[str, ...]
    cwd: str = "."
    policy: str = ""


def read_records(lines: Iterable[str]) -> Iterator[Recorded]:
    """The commands of a log.

    Understands the events of a run (``run_command`` calls), and lines that are a JSON list of
    words, ``{"argv": [...]}`` or ``{"line": "..."}``. Everything else is passed over.
    """
    waiting: list[Recorded] = []
    for text in lines:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        kind = value.get("type") if isinstance(value, dict) else None
        if kind == "tool/call" and value.get("name") in ("run_command", "exec"):
            yield from waiting
            waiting = list(commands_of(arguments(value.get("arguments"))))
        elif kind == "tool/verdict" and waiting:
            digest = str(value.get("policy") or "")
            yield from (Recorded(one.argv, one.cwd, digest) for one in waiting)
            waiting = []
        elif kind is None:
            yield from commands_of(value)
    yield from waiting


def arguments(value: object) -> object:
    """The arguments of a call, which a log holds as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def commands_of(value: Any) -> Iterator[Recorded]:  # noqa: ANN401 (whatever a log holds)
    """The commands in ``[words]``, ``{argv}``, ``{line}`` or ``{plan}``."""
    if isinstance(value, list):
        value = {"argv": value}
    if not isinstance(value, dict):
        return
    cwd = value.get("cwd")
    cwd = cwd if isinstance(cwd, str) else "."
    argv = value.get("argv")
    if isinstance(argv, list) and argv and all(isinstance(word, str) for word in argv):
        yield Recorded(tuple(argv), cwd)
    elif isinstance(value.get("line"), str):
        try:
            plan = parse_line(value["line"], cwd=cwd)
        except LineError:
            return
        yield from of_plan(plan)
    elif isinstance(value.get("plan"), list):
        for step in value["plan"]:
            for stage in step if isinstance(step, list) else ():
                yield from commands_of({"cwd": cwd, **stage} if isinstance(stage, dict) else stage)


def of_plan(plan: Plan) -> Iterator[Recorded]:
    """Every stage of a plan, in the folder its ``cd`` leads to."""
    cwd = plan.cwd
    for step in plan.steps:
        if isinstance(step, Cd):
            cwd = step.path if step.path.startswith("/") else f"{cwd}/{step.path}"
        elif isinstance(step, Pipeline):
            for stage in step.stages:
                yield Recorded(stage.argv, cwd)
