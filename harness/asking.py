"""One question to the model: the request, the wait for the answer, and the record of both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from harness.bus import Events
from harness.clock import perf_counter_ns, seconds_since
from harness.context import Transcript, Trimmer
from harness.errors import ModelError
from harness.event import ModelAttempted, ModelReplied, ModelRequested, Notice
from harness.message import Message, System, User
from harness.model import Attempt, Model, ModelRequest, Reply, ToolDefinition, accept_reply
from harness.signal import Signal
from harness.supervise import Patience

__all__ = ["Asking"]


class Asking:
    """Asks a model, turn after turn, about a transcript.

    Attributes:
        told: so many messages of the transcript are in the record already.
    """

    def __init__(
        self,
        model: Model,
        transcript: Transcript,
        events: Events,
        trimmer: Trimmer,
        tools: Callable[[], tuple[ToolDefinition, ...]],
        *,
        grace_seconds: float = 2.0,
        told: int = 0,
    ) -> None:
        self.told = told
        self._model = model
        self._transcript = transcript
        self._events = events
        self._trimmer = trimmer
        self._definitions = tools
        self._grace_seconds = grace_seconds
        self._tools: tuple[ToolDefinition, ...] | None = None
        self._too_long = False

    async def ask(self, signal: Signal) -> Reply | None:
        """The model's answer, accepted and in the record; None when nobody wants it any more.

        Raises:
            ModelError: with the transcript as it was; nothing of a bad answer is kept.
        """
        request = await self._request(signal)
        started = perf_counter_ns()
        try:
            answer = await self._generate(request)
            if signal.cancelled:
                return None
            reply = accept_reply(answer)
        except ModelError as error:
            error.transcript = self._transcript.view()
            raise
        self._events.emit(_replied(reply, seconds_since(started)))
        return reply

    async def _generate(self, request: ModelRequest) -> object:
        """What the model says; None when it was cancelled, however it took that.

        It is awaited in the loop's own task: that costs nothing, and a model is trusted to stop.
        """
        patience = Patience(self._grace_seconds)
        remove = request.signal.subscribe(patience.begin)
        try:
            return await self._model.generate(request)
        except asyncio.CancelledError:
            if not patience.ended_this():
                raise
            return None
        except Exception:
            if request.signal.cancelled:
                return None
            raise
        finally:
            remove()
            patience.release()

    async def _request(self, signal: Signal) -> ModelRequest:
        if self._trimmer.compact is not None:
            self._events.flush()  # a model may be asked to sum up
        view = await self._trimmer.view(self._transcript)
        if not self._trimmer.fits and not self._too_long:
            self._too_long = True
            text = "the conversation is too long even without its earlier rounds; it is sent anyway"
            self._events.emit(Notice("context", text))
        tools = self._definitions()
        changed = None if tools == self._tools else tuple(map(asdict, tools))
        self._tools = tools
        self._events.emit(
            ModelRequested(
                messages=len(view),
                digest=self._transcript.digest,
                added=self._news(),
                omitted=self._trimmer.omitted or None,
                tools=changed,
            )
        )
        self.told = len(self._transcript)
        return ModelRequest(view, tools, signal, None, self._attempted)

    def _news(self) -> tuple[dict[str, Any], ...]:
        """The messages that no record has yet; after most steps there are none."""
        if self.told == len(self._transcript):
            return ()
        return tuple(_added(message) for message in self._transcript.view(self.told))

    def _attempted(self, attempt: Attempt) -> None:
        self._events.emit(
            ModelAttempted(
                attempt.number,
                attempt.model,
                attempt.ok,
                attempt.error or None,
                attempt.status,
                attempt.wait_seconds or None,
            )
        )


def _added(message: Message) -> dict[str, Any]:
    """A message that no other record has, as the log keeps it."""
    if isinstance(message, System | User):
        origin = "system" if isinstance(message, System) else message.origin
        return {"role": origin, "text": message.text}
    return {"role": type(message).__name__.lower(), **asdict(message)}


def _replied(reply: Reply, seconds: float) -> ModelReplied:
    return ModelReplied(
        text=reply.text,
        calls=tuple(
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.calls
        ),
        duration_seconds=seconds,
        usage=None if reply.usage is None else reply.usage.reported() or None,
        model=reply.model or None,
        repairs=reply.repairs or None,
        reasoning=tuple(map(asdict, reply.reasoning)) or None,
        cut=reply.cut or None,
    )
