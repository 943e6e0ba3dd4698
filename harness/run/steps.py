"""Works through a task of several steps: one box for all, a verification after each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.errors import ConfigError, HarnessError
from harness.run.agent import run_own, work_on
from harness.run.box import Box
from harness.run.health import await_health
from harness.run.job import Job
from harness.run.judgement import judge
from harness.run.keeping import KEPT, keep_files
from harness.run.outgoing import Changes, Workspace
from harness.run.report import State, keep
from harness.run.work import Work, tell
from harness.task import Step
from harness.verify import Verdict, Verification
from policies import Budgets
from runners import Session
from runners.workspace import lay, put_folder

__all__ = ["Scaffold", "work_in_steps"]


@dataclass(frozen=True, slots=True)
class Scaffold:
    """What all steps share."""

    box: Box
    workspace: Workspace
    session: Session


@dataclass(frozen=True, slots=True)
class StepDone:
    """One step that was worked on."""

    step: Step
    status: str
    verification: Verification

    @property
    def values(self) -> dict[str, float]:
        """The reward by names."""
        reward = self.verification.reward
        if reward is None:
            return {}
        return reward if isinstance(reward, dict) else {"reward": reward}

    @property
    def gated(self) -> bool:
        """Whether the reward is too low to go on."""
        values = self.values
        return any(values.get(name, float("-inf")) < least for name, least in self.step.gate)

    def record(self) -> dict[str, Any]:
        """For ``result.json``."""
        return {"name": self.step.name, "status": self.status, **self.verification.record()}


async def work_in_steps(job: Job, work: Work, state: State, scaffold: Scaffold) -> Changes:
    """Step after step, until one ends them all; leaves in the state what they come to."""
    if work.resumption is not None:
        raise ConfigError("a run of several steps cannot be taken up again; run the task anew")
    done: list[StepDone] = []
    budgets, last = job.budgets, None
    for step in job.task.steps:
        own = part_of(job, step, budgets, work.scratch)
        changes = await work_on_step(own, work, state, scaffold, step)
        budgets = left(job.budgets, state.spent)
        with work.stop.interruptible():
            state.patch = changes.patch
            record = changes.write(work.folder.patch)
            found = Verification("none", "the model failed")
            if state.status != "model_error":
                found = await judge(own, work, scaffold.box, changes)
        done.append(StepDone(step, state.status, found))
        state.facts |= {**record, "steps": [one.record() for one in done]}
        state.verification = summed(job, done)
        last = changes
        if state.status != "completed" or done[-1].gated:
            tell(work, "steps", f"step {step.name} ends the task: {ground(done[-1])}")
            break
    assert last is not None
    return last


def part_of(job: Job, step: Step, budgets: Budgets, scratch: Path) -> Job:
    """A step as a job of its own, with what is left of the budgets."""
    tests = scratch / "tests" / step.name
    tests.mkdir(parents=True)
    for folder in step.tests:
        lay(folder, "", tests, "")
    task = replace(
        job.task,
        instruction=step.instruction,
        solution=step.solve.parent if step.solve else None,
        solve=step.solve,
        tests=tests if step.tests else None,
        check=step.check,
        steps=(),
    )
    seconds = min(budgets.wall_seconds, step.agent_seconds or budgets.wall_seconds)
    return replace(job, task=task, budgets=replace(budgets, wall_seconds=seconds))


async def work_on_step(
    own: Job, work: Work, state: State, scaffold: Scaffold, step: Step
) -> Changes:
    """Set the step up, let the agent work, take what came of it."""
    session = scaffold.session
    with work.stop.interruptible():
        if step.files is not None:
            await put_folder(session, step.files, root="workspace")
        if step.setup:
            argv = ("bash", f"{session.paths['workspace']}/setup.sh")
            outcome = await run_own(session, work, f"{step.name}: setup.sh", argv, own.limits)
            if not outcome.ok:
                raise HarnessError(f"step {step.name}: setup.sh ended with {outcome.code}")
        await await_health(session, work, step.healthcheck)
    keep(state, await work_on(own, work, session))
    if state.error:
        tell(work, "error", state.error)
    with work.stop.interruptible():
        await keep_files(session, work, step, work.folder.path / "steps" / step.name / KEPT)
        return await scaffold.workspace.take(session, f"result of {step.name}")


def left(budgets: Budgets, spent: dict[str, Any]) -> Budgets:
    """What earlier steps did not spend."""
    return replace(
        budgets,
        steps=max(0, budgets.steps - int(spent.get("steps", 0))),
        tool_calls=max(0, budgets.tool_calls - int(spent.get("tool_calls", 0))),
        wall_seconds=max(0.001, budgets.wall_seconds - float(spent.get("wall_seconds", 0.0))),
    )


def summed(job: Job, done: Sequence[StepDone]) -> Verification:
    """All steps as one verification: passed if the last step was reached and none fell short."""
    counted = done[-1:] if job.task.strategy == "final" else done
    verdicts = {one.verification.verdict for one in done}
    verdict: Verdict = "passed"
    if "broken" in verdicts:
        verdict = "broken"
    elif len(done) < len(job.task.steps) or any(
        one.verification.verdict != "passed" for one in counted
    ):
        verdict = "failed"
    reason = f"{len(done)} of {len(job.task.steps)} steps; the last: {done[-1].verification.reason}"
    findings = tuple(finding for one in done for finding in one.verification.findings)
    return Verification(verdict, reason, reward_of(counted), findings=findings)


def reward_of(done: Sequence[StepDone]) -> float | dict[str, float] | None:
    """The mean by names; a value that a step lacks counts as nothing."""
    rated = [one.values for one in done if one.values]
    if not rated:
        return None
    names = sorted({name for values in rated for name in values})
    means = {name: sum(v.get(name, 0.0) for v in rated) / len(rated) for name in names}
    return means["reward"] if names == ["reward"] else means


def ground(done: StepDone) -> str:
    """Why no further step is begun."""
    return f"its reward is below {dict(done.step.gate)}" if done.gated else done.status
