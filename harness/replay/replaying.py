"""The recorded answers drive the real loop: strictly without a box, or in a box to compare."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.agent import Agent
from harness.artifact import ArtifactStore
from harness.budget import Budget
from harness.bus import Events
from harness.errors import ConfigError, ModelError
from harness.message import System, User
from harness.pipeline import CONTENT_CHARACTERS
from harness.recall import Recollection, recall
from harness.replay.comparison import Comparison, Divergence
from harness.replay.stand_in import RecordedApprover, RecordedModel, recorded_tools
from harness.signal import Signal
from harness.tools import builtin_tools
from policies import Budgets, Isolation, Policy
from runners import ScriptedSession, Session

__all__ = ["Box", "Replayed", "box_of", "replay"]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay found.

    Attributes:
        differences: between then and now, in order; empty when the replay is faithful.
        texts: results of programs that ended as recorded and printed something else.
        compared: records that are the same.
        recorded: records that were to be compared.
    """

    differences: Sequence[Divergence]
    compared: int
    recorded: int
    texts: Sequence[Divergence] = ()

    @property
    def same(self) -> bool:
        """Whether everything happened as recorded."""
        return not self.differences


@dataclass(frozen=True, slots=True)
class Box:
    """What is recorded of the box: where the workspace lay, and how strong it was."""

    root: str = "/workspace"
    isolation: Isolation = Isolation.CONTAINER


def box_of(records: Iterable[Mapping[str, Any]]) -> Box:
    """The box that a log tells of; the usual one where it tells of none."""
    for record in records:
        if record.get("type") == "notice" and record.get("kind") == "box":
            detail = record.get("detail") or {}
            return Box(_root(detail), _level(detail))
    return Box()


def _root(detail: Mapping[str, Any]) -> str:
    root = detail.get("root", "/workspace")
    if not isinstance(root, str) or not root.startswith("/"):
        raise ConfigError(f"the log tells of a box whose root {root!r:.80} is no absolute path")
    return root


def _level(detail: Mapping[str, Any]) -> Isolation:
    try:
        return Isolation.parse(str(detail.get("isolation", "container")))
    except ValueError as error:
        raise ConfigError(f"the log tells of a box with an {error}") from None


async def replay(
    records: Sequence[Mapping[str, Any]],
    policy: Policy,
    *,
    session: Session | None = None,
    artifacts: ArtifactStore | None = None,
) -> Replayed:
    """Replay a run of a model.

    Args:
        records: its log.
        policy: the policy under which it ran; a changed one shows as a difference in a verdict.
        session: a box with the run's workspace in it: the calls run again and differences in
            their results are collected. None: recorded results stand in, and the first
            difference in anything ends the replay.
        artifacts: where long outputs are kept, if the run had such a place.

    Raises:
        ConfigError: the log is not that of a run of a model.
    """
    run = recall(records)
    if not run.steps:
        raise ConfigError(
            f"run {run.run or '(unnamed)'} asked no model; there is nothing to replay"
        )
    signal = Signal()
    comparison = Comparison.of(records, signal, strict=session is None)
    events = Events(run=run.run)
    events.subscribe(comparison.hear)
    box = box_of(records)
    place = session or ScriptedSession(isolation=box.isolation, workspace=box.root)
    tools = builtin_tools(place, policy, artifacts=artifacts)
    agent = Agent(
        RecordedModel(run),
        tools=tools if session is not None else recorded_tools(tools, run),
        policy=policy,
        session=place,
        budget=_budget(run, policy),
        approver=RecordedApprover(records),
        events=events,
        system=_system(run),
        signal=signal,
        artifacts=artifacts,
        enclosed=True,
        # What was cut is recorded as it was cut; nothing is cut twice.
        content_characters=CONTENT_CHARACTERS if session is not None else sys.maxsize,
    )
    try:
        for text in _turns(run):
            await agent.run(text)
            if signal.cancelled:
                break
    except ModelError:
        pass  # recorded as a failure then, and compared as far as the record goes
    comparison.close()
    return Replayed(
        comparison.differences, comparison.compared, len(comparison.recorded), comparison.texts
    )


def _budget(run: Recollection, policy: Policy) -> Budget:
    said = run.start.get("budgets") or {}
    plain = policy.budgets
    steps = int(said.get("steps") or plain.steps)
    calls = int(said.get("tool_calls") or plain.tool_calls)
    # No wall clock: a replay is as fast as it is, and then was then.
    return Budget.of(Budgets(steps, calls, 86400.0, plain.per_tool))


def _system(run: Recollection) -> str | None:
    first = run.steps[0].before[:1]
    return first[0].text if first and isinstance(first[0], System) else None


def _turns(run: Recollection) -> list[str]:
    """What the user said, turn by turn."""
    return [
        message.text
        for step in run.steps
        for message in step.before
        if isinstance(message, User) and message.origin == "user"
    ]
