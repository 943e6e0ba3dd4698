"""Who works on a task: a model in the loop, the reference solution, or nobody."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from harness.action.performed import outcome_facts
from harness.event import ToolCalled, ToolFinished
from harness.printed import tail
from harness.run.code import Status
from harness.run.job import Job
from harness.run.resumption import take_up
from harness.run.work import Work
from harness.verify import need_fixed_paths, task_environment
from policies import Limits, Pipeline, Stage
from runners import Outcome, Session
from runners.workspace import put_folder

__all__ = ["Ended", "close_model", "run_own", "work_on"]

SYSTEM = """\
You work on a task in the folder {workspace} of a sandbox without network. Use the tools; what
they refuse is not permitted, and the refusal says what is. Call finish when you are done."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How an agent ended.

    Attributes:
        status: completed, a spent budget, aborted, model_error.
        answer: its last words, if it completed.
        error: what the model failed with.
        spent: for ``result.json``.
        denials, unanswered: calls that the policy denied, and those nobody could approve.
    """

    status: Status
    answer: str | None = None
    error: str | None = None
    spent: dict[str, Any] = field(default_factory=dict)
    denials: int = 0
    unanswered: int = 0


async def work_on(job: Job, work: Work, session: Session) -> Ended:
    """Let the agent work in the session until it ends or its budget is spent."""
    if job.agent == "nop":
        return Ended("completed", spent={"steps": 0, "tool_calls": 0})
    if job.agent == "oracle":
        with work.stop.interruptible():
            return await solve(job, work, session)
    return await converse(job, work, session)


async def converse(job: Job, work: Work, session: Session) -> Ended:
    """The model, in the loop."""
    from harness.agent import Agent
    from harness.artifact import ArtifactStore
    from harness.budget import Budget
    from harness.errors import ModelError
    from harness.tools import builtin_tools

    assert job.model is not None
    artifacts = ArtifactStore(
        work.folder.artifacts, lambda text: str(work.log.clean({"text": text})["text"])
    )
    agent = Agent(
        job.model,
        tools=builtin_tools(session, job.policy, artifacts=artifacts),
        policy=job.policy,
        session=session,
        budget=Budget.of(job.budgets),
        events=work.events,
        system=SYSTEM.format(workspace=session.paths["workspace"]),
        signal=work.stop.signal,
        artifacts=artifacts,
        enclosed=True,
    )
    try:
        if work.resumption is None:
            result = await agent.run(job.task.instruction)
        else:
            result = await take_up(agent, work.resumption, job.task.instruction)
    except ModelError as error:
        spent = spent_record(agent.ledger.spent)
        return Ended("model_error", error=str(error), spent=spent)
    return Ended(
        status=cast("Status", result.status),
        answer=result.answer,
        spent=spent_record(result.spent),
        denials=result.denials,
        unanswered=result.unanswered,
    )


async def close_model(model: object | None) -> None:
    """End the connections of a model that has any."""
    close = getattr(model, "aclose", None)
    if close is not None:
        await close()


def spent_record(spent: Any) -> dict[str, Any]:  # noqa: ANN401 - harness.budget.Spent
    """For ``result.json``; what no provider reported is absent."""
    record = {
        "steps": spent.steps,
        "tool_calls": spent.tool_calls,
        "wall_seconds": spent.wall_seconds,
        "per_tool": dict(spent.per_tool),
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "cost": spent.cost,
    }
    return {key: value for key, value in record.items() if value is not None}


async def solve(job: Job, work: Work, session: Session) -> Ended:
    """The reference solution, run in the box as the task's own script."""
    script = job.task.solve
    assert script is not None
    need_fixed_paths(session, script)
    if job.task.solution is not None:
        await put_folder(session, job.task.solution, root="solution")
    else:
        await session.write_file(script.name, script.read_bytes(), root="solution", mode=0o755)
    seconds = min(job.limits.wall_seconds, job.budgets.wall_seconds)
    start = time.monotonic()
    path = f"{session.paths['solution']}/{script.name}"
    limits = replace(job.limits, wall_seconds=seconds)
    outcome = await run_own(
        session,
        work,
        f"solution/{script.name}",
        ("bash", path),
        limits,
        dict(job.task.solution_env),
    )
    spent = {"steps": 0, "tool_calls": 0, "wall_seconds": round(time.monotonic() - start, 6)}
    timed_out = outcome.ending == "timed_out"
    return Ended("time_limit" if timed_out else "completed", spent=spent)


async def run_own(
    session: Session,
    work: Work,
    name: str,
    argv: tuple[str, ...],
    limits: Limits,
    env: Mapping[str, str] | None = None,
) -> Outcome:
    """Run a script of the task's and record it: it is no call of the model, no rule judged it."""
    outcome = await session.run(
        Pipeline((Stage(argv),)),
        env={**task_environment(session), **(env or {})},
        limits=limits,
    )
    work.events.emit(ToolCalled(name, "", origin="task"), call=name)
    facts = {"outcomes": [outcome_facts(outcome)]}
    work.events.emit(
        ToolFinished(name, outcome.ok, tail(outcome), outcome.wall_seconds, outcome=facts),
        call=name,
    )
    return outcome
