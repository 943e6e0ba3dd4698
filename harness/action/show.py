"""Plans as text for people: what would run, in full, quoted like a shell would read it."""

from __future__ import annotations

import shlex

from policies import Cd, FromFile, FromText, NullDevice, Plan, Stage, ToFile, ToStdout

__all__ = ["plan_line"]


def plan_line(plan: Plan) -> str:
    """The plan as one line."""
    parts: list[str] = []
    for index, step in enumerate(plan.steps):
        if index:
            parts.append(plan.links[index - 1])
        if isinstance(step, Cd):
            parts.append(f"cd {shlex.quote(step.path)}")
        else:
            parts.append(" | ".join(map(_stage, step.stages)))
    return " ".join(parts)


def _stage(stage: Stage) -> str:
    words = [f"{name}={shlex.quote(value)}" for name, value in stage.env]
    words += [
        word if index in stage.globs else shlex.quote(word) for index, word in enumerate(stage.argv)
    ]
    match stage.stdin:
        case FromFile(path):
            words.append(f"< {shlex.quote(path)}")
        case FromText(data):
            words.append(f"<<({len(data)} bytes)")
        case NullDevice():
            words.append("< /dev/null")
    for stream, sign in ((stage.stdout, ""), (stage.stderr, "2")):
        match stream:
            case ToFile(path, append):
                words.append(f"{sign}{'>>' if append else '>'} {shlex.quote(path)}")
            case NullDevice():
                words.append(f"{sign}> /dev/null")
            case ToStdout():
                words.append("2>&1")
    return " ".join(words)
