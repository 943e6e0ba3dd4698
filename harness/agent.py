"""An agent as an object: a model, tools, a policy, and a conversation that goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import asdict
from functools import partial
from typing import Any, Protocol

from harness.approval import Approver, CallableApprover
from harness.artifact import ArtifactStore
from harness.budget import Budget, Ledger
from harness.bus import Events
from harness.context import Compactor, Transcript, Trimmer
from harness.errors import HarnessError, ModelError
from harness.event import Event, RunEnd, RunStart
from harness.hook import Hooks
from harness.judge import Judge
from harness.loop import Loop, LoopResult
from harness.message import System, User
from harness.model import Model, ToolDefinition
from harness.pipeline import CONTENT_CHARACTERS, Pipeline
from harness.prompt import Prompt
from harness.registry import Registry
from harness.repeat import RepeatGuard
from harness.signal import Signal
from runners import RunnerError, Session

__all__ = ["Agent", "SystemPrompt"]


class SystemPrompt(Protocol):
    """Something that assembles the system message; :class:`harness.prompt.Prompt` is one."""

    async def assemble(self, registry: Registry | None = None) -> str:
        """The text, for the tools that are there."""
        ...


class Agent:
    """Runs a model with tools, turn by turn, in one conversation.

        agent = Agent(model, tools=[add], policy=policies.load("readonly"))
        result = await agent.run("What is 2 + 3?")

    Promises:
     1. ``run`` returns how it ended; a failing model or box raises, with the conversation whole.
     2. Each turn has the whole budget; the conversation goes on from turn to turn.
     3. One turn at a time.

    Args:
        model: whoever answers.
        tools: what it may call, or a Registry of them.
        policy: judges every call; None judges nothing, so give it tools that need no judge.
        session: the box that the tools act in, for its workspace path; None when there is none.
        budget: what one turn may spend; the policy's where None.
        approver: answers what the policy asks; None answers nothing, which is a no.
        events: where everything is said; with a log for a record.
        system: the system message, as text or as sections.
        signal: cancels the run.
        hooks: middleware, guards and observers.
        artifacts: keeps outputs that are too long to show.
        enclosed: whoever made ``events`` writes run/start and run/end, not this agent.
        context_characters: the most that is sent of the conversation; None sends everything.
        compact: sums up the rounds that are left out; a plain note says it where None.
        repeat_guard: tells the model when it repeats itself.
        settings: what else :class:`harness.pipeline.Pipeline` takes.
    """

    def __init__(  # noqa: PLR0913 - all by keyword, all with a default
        self,
        model: Model,
        *,
        tools: Iterable[object] | Registry = (),
        policy: Judge | None = None,
        session: Session | None = None,
        budget: Budget | None = None,
        approver: Approver | None = None,
        events: Events | None = None,
        system: str | SystemPrompt | None = None,
        signal: Signal | None = None,
        hooks: Hooks | None = None,
        artifacts: ArtifactStore | None = None,
        enclosed: bool = False,
        context_characters: int | None = None,
        compact: Compactor | None = None,
        content_characters: int = CONTENT_CHARACTERS,
        repeat_guard: bool = True,
        **settings: Any,  # noqa: ANN401 - passed on to the pipeline, which names them
    ) -> None:
        self.model = model
        self.registry = tools if isinstance(tools, Registry) else Registry(tools)
        self.events = events or Events()
        self.signal = signal or Signal()
        self.hooks = hooks or Hooks()
        self.ledger = Ledger(budget or _budget_of(policy))
        self._make_pipeline = partial(
            Pipeline,
            self.registry,
            hooks=self.hooks,
            judge=policy,
            artifacts=artifacts,
            root="/workspace" if session is None else session.paths["workspace"],
            content_characters=content_characters,
            **settings,
        )
        self.pipeline = self._make_pipeline(
            approver=approver, events=self.events, ledger=self.ledger
        )
        self.transcript = Transcript()
        self._policy = policy
        self._system = system
        self._enclosed = enclosed
        self._trimmer = Trimmer(context_characters, compact=compact)
        self._guard = RepeatGuard() if repeat_guard else None
        self._running = False
        self._told = 0

    async def run(self, text: str) -> LoopResult:
        """Say something and run until an answer or a limit."""
        if self._running:
            raise HarnessError("this agent is running already; it takes one turn at a time")
        self._running = True
        self.ledger.reset()
        try:
            if not self._enclosed:
                self.events.emit(RunStart(self._facts()), step=0)
            return await self._turn(text)
        finally:
            self._running = False

    async def _turn(self, text: str) -> LoopResult:
        status, spent = "aborted", None
        try:
            await self._open()
            self.transcript.append(User(text))
            result = await self._loop()
            status, spent = result.status, result.spent
            return result
        except ModelError:
            status = "model_error"
            raise
        except RunnerError:
            status = "infrastructure"
            raise
        except Exception:
            status = "model_error"  # whatever a model of the user's own raised
            raise
        finally:
            if not self._enclosed:
                spent = spent or self.ledger.spent
                self.events.emit(RunEnd(status, {"spent": spent.to_dict()}), step=0)

    async def _loop(self) -> LoopResult:
        loop = Loop(
            self.model,
            self.pipeline,
            self.transcript,
            self.signal,
            self._trimmer,
            self._definitions,
            self._guard,
            self._told,
        )
        try:
            return await loop.run()
        finally:
            self._told = loop.told

    async def go_on(self, *, told: int, ended: tuple[str, str | None] | None = None) -> LoopResult:
        """Go on with a conversation that was put into ``transcript``; for taking up a run.

        Args:
            told: how many of its messages the record has.
            ended: status and answer where the conversation had ended already.
        """
        self._told = told
        if ended is None:
            return await self._loop()
        status, answer = ended
        spent = self.ledger.spent
        return LoopResult(status, self.transcript.view(), spent.steps, answer, spent)

    def twin(self, events: Events) -> Pipeline:
        """A pipeline like this agent's that says what it does elsewhere, with a budget of its own.

        Questions to the operator are not put again: what was permitted then is what is run.
        """
        ledger = Ledger(Budget(steps=10**6, tool_calls=10**6, wall_seconds=86400.0))
        yes = CallableApprover(lambda _: True)
        return self._make_pipeline(approver=yes, events=events, ledger=ledger)

    def _definitions(self) -> tuple[ToolDefinition, ...]:
        """What the model is told of, after the prompt's hooks."""
        found = self.registry.definitions()
        return self._system.tools(found) if isinstance(self._system, Prompt) else found

    async def _open(self) -> None:
        """The system message comes first, once."""
        if len(self.transcript) or self._system is None:
            return
        text = self._system
        if not isinstance(text, str):
            text = await text.assemble(self.registry)
        if text:
            self.transcript.append(System(text))

    def run_sync(self, text: str) -> LoopResult:
        """``run`` for programs that are not asynchronous."""
        return asyncio.run(self.run(text))

    async def stream(self, text: str) -> AsyncIterator[Event]:
        """Run, and give the events as they come; the last ones tell how it ended."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        dispose = self.events.subscribe(queue.put_nowait)
        turn = asyncio.create_task(self.run(text))
        turn.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            await turn
        finally:
            dispose()
            if not turn.done():
                turn.cancel()
                await asyncio.wait({turn})

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"budget": asdict(self.ledger.budget)}
        for key, value in (
            ("model", getattr(self.model, "name", type(self.model).__name__)),
            ("policy", getattr(self._policy, "name", None)),
            ("policy_digest", getattr(self._policy, "digest", None)),
        ):
            if value is not None:
                facts[key] = str(value)
        return facts


def _budget_of(policy: Judge | None) -> Budget:
    budgets = getattr(policy, "budgets", None)
    return Budget() if budgets is None else Budget.of(budgets)
