"""Running programs in the box: one argv, a plan, or a line that reads as one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from harness.action import (
    Considered,
    Performed,
    PlanFormError,
    consider,
    plan_from_json,
    plan_to_json,
)
from harness.action.perform import carry_out
from harness.judge import denial_text
from harness.pipeline import Denial
from harness.tool import Execution, Tool, ToolError
from harness.tools.box import ToolBox
from policies import Command, Decision, Limits, Plan, Verdict
from runners import Capture, Ending, Outcome

__all__ = ["run_command_tool"]

_AFTER_LIMIT = 30.0
"""Seconds beside a command's own wall limit: for the box to end it and to answer."""

_DESCRIPTION = """\
Run a program in the workspace, without a shell. Give exactly one of:
- argv: the words of one command, for example ["git", "status", "-s"];
- line: a command line of words, quotes, |, &&, ||, ;, redirections and heredocs; no variables, \
substitution, loops or background;
- plan: the same as data: [[["sort", "a.txt"], ["uniq"]], "&&", [["ls"]]]; a stage may be an \
object {argv, env, stdin, stdout, stderr}.
Only what the policy allows runs; a denial says which word is at fault."""

_PARAMETERS = {
    "type": "object",
    "properties": {
        "argv": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "line": {"type": "string", "minLength": 1},
        "plan": {"type": "array", "minItems": 1},
        "cwd": {"type": "string", "minLength": 1, "description": "Folder; '.' if absent."},
        "stdin": {"type": "string", "description": "Standard input; only with argv."},
    },
    "additionalProperties": False,
}
_FORMS = ("argv", "line", "plan")


def run_command_tool(box: ToolBox) -> Tool:
    """The tool `run_command`."""
    session, policy = box.session, box.policy

    async def prepare(
        arguments: dict[str, Any], _: Execution
    ) -> tuple[Verdict, Considered, list[Any] | str]:
        cwd = box.inside(arguments.get("cwd", "."))
        action = _action(arguments, cwd)
        root = session.paths["workspace"]
        found = consider(policy, action, root=root, isolation=session.isolation, cwd=cwd)
        shown = arguments["line"] if found.plan is None else plan_to_json(found.plan)
        return found.verdict, found, shown

    async def execute(_: dict[str, Any], execution: Execution) -> dict[str, Any]:
        task = asyncio.current_task()
        assert task is not None
        stop = execution.signal.subscribe(task.cancel)  # type: ignore[arg-type]
        try:
            found: Considered = execution.plan
            done = await carry_out(session, policy, found, limits=box.limits)
        finally:
            stop()
        execution.refused = done.denied
        return _value(done)

    return Tool(
        name="run_command",
        description=_DESCRIPTION,
        parameters=_PARAMETERS,
        execute=execute,
        render=lambda _, value: str(value["text"]),
        rules=_rules,
        tier="execute",
        timeout_seconds=_longest(box) + _AFTER_LIMIT,
        prepare=prepare,
        facts=lambda value: value["facts"],
        in_box=True,
    )


def _longest(box: ToolBox) -> float:
    own: Limits = getattr(box.policy, "limits", Limits())
    return own.least(box.limits or own).wall_seconds


def _rules(arguments: dict[str, Any]) -> Iterable[str]:
    given = [name for name in _FORMS if name in arguments]
    if len(given) != 1:
        said = " and ".join(given) or "none"
        yield f"$: needs exactly one of argv, line and plan, has {said}"
    if "stdin" in arguments and "argv" not in arguments:
        yield "$.stdin: only argv takes it; in a plan a stage has its own stdin"
    if "plan" in arguments:
        try:
            plan_from_json(arguments["plan"], path="$.plan")
        except PlanFormError as error:
            yield from error.faults


def _action(arguments: dict[str, Any], cwd: str) -> Command | Plan | str:
    if "line" in arguments:
        return str(arguments["line"])
    if "plan" in arguments:
        return plan_from_json(arguments["plan"], cwd=cwd)
    text = arguments.get("stdin")
    stdin = None if text is None else text.encode("utf-8", "surrogateescape")
    return Command(tuple(arguments["argv"]), cwd, stdin)


def _value(done: Performed) -> dict[str, Any]:
    """What programs and the log get; a refusal on a closer look is no value."""
    if done.denied and not done.outcomes:
        raise _refusal(done.verdict)
    return {"facts": done.facts(), "text": _text(done), **_last(done)}


def _refusal(verdict: Verdict) -> Exception:
    if verdict.reason == "no-such-program":
        return ToolError(verdict.message, type="NoSuchProgram")
    unanswered = verdict.reason == "approval-unavailable"
    return Denial(denial_text(verdict), unanswered=unanswered)


def _last(done: Performed) -> dict[str, Any]:
    outcome = done.outcome
    if outcome is None:
        return {"code": 0 if not done.problem else 1}
    return {
        "ending": outcome.ending.value,
        "code": outcome.code,
        "stdout": "".join(one.stdout.text() for one in done.outcomes),
        "stderr": "".join(one.stderr.text() for one in done.outcomes),
    }


def _text(done: Performed) -> str:
    """What the model reads: how it ended first, then the output of all pipelines that ran."""
    parts = [_ending(done)]
    out = _joined([one.stdout for one in done.outcomes])
    err = _joined([one.stderr for one in done.outcomes])
    if out:
        parts.append(out)
    if err:
        parts.append(f"[stderr]\n{err}")
    return "\n".join(part.rstrip("\n") for part in parts)


def _joined(captures: Iterable[Capture]) -> str:
    return "".join(capture.text() for capture in captures)


def _ending(done: Performed) -> str:
    outcome = done.outcome
    if outcome is None:
        line = "[nothing ran]" if done.problem else "[exit code 0]"
    else:
        line = f"[{_how(outcome)}]"
    ran = len(done.outcomes)
    if ran > 1 or (ran and len(done.outcomes[0].codes) > 1):
        codes = "; ".join(" | ".join(map(str, codes)) for codes in done.codes)
        line += f" (codes of all programs: {codes})"
    skipped = sum(step.skipped for step in done.steps)
    if skipped:
        line += f" ({skipped} of {len(done.steps)} parts did not run)"
    if done.denied and done.verdict.decision is not Decision.ALLOW:
        line += f"\n[denied from there on: {denial_text(done.verdict)}]"
    elif done.problem:
        line += f"\n[ended: {done.problem}]"
    return line


def _how(outcome: Outcome) -> str:
    match outcome.ending:
        case Ending.EXITED:
            text = f"exit code {outcome.code}"
        case Ending.SIGNALLED:
            text = f"ended by signal {outcome.signal}"
        case Ending.TIMED_OUT:
            text = f"timed out after {outcome.wall_seconds:.1f} s and was killed"
        case Ending.KILLED_BY_LIMIT:
            text = f"killed by the limit {outcome.limit}"
        case other:
            text = other.value
    if outcome.start_error:
        text += f": {outcome.start_error}"
    hit = [hit.limit for hit in outcome.limits_hit if hit.limit != outcome.limit]
    return f"{text}; limits reached: {', '.join(hit)}" if hit else text
