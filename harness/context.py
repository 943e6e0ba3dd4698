"""The conversation as it is recorded, and the part of it that a request shows."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

from harness.message import Assistant, Message, System, ToolMessage, User

__all__ = ["Compactor", "Transcript", "Trimmer", "View", "message_size"]


class View(Sequence[Message]):
    """A read-only snapshot: some messages of its own, then a range of a growing list."""

    __slots__ = ("_head", "_items", "_start", "_stop")

    def __init__(
        self, items: list[Message], start: int, stop: int, head: tuple[Message, ...] = ()
    ) -> None:
        self._items = items
        self._start = start
        self._stop = stop
        self._head = head

    def __len__(self) -> int:
        return len(self._head) + self._stop - self._start

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return tuple(self)[index]
        length = len(self)
        place = index + length if index < 0 else index
        if not 0 <= place < length:
            raise IndexError("no such message")
        if place < len(self._head):
            return self._head[place]
        return self._items[self._start + place - len(self._head)]

    def __iter__(self) -> Iterator[Message]:
        yield from self._head
        yield from self._items[self._start : self._stop]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} messages>"  # asyncio.run asks for it, whatever the length


class Transcript:
    """All messages of a conversation; it only grows, and it is the only state of a loop."""

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._messages: list[Message] = []
        self._hasher = hashlib.sha256()
        self.extend(messages)

    def append(self, message: Message) -> None:
        """Add one message."""
        self._messages.append(message)
        self._hasher.update(_bytes(message))

    def extend(self, messages: Sequence[Message]) -> None:
        """Add messages in order."""
        for message in messages:
            self.append(message)

    @property
    def digest(self) -> str:
        """SHA-256 over all messages so far: two conversations that differ have different ones."""
        return self._hasher.copy().hexdigest()

    def view(self, start: int = 0, head: tuple[Message, ...] = ()) -> View:
        """A snapshot from ``start`` on, behind ``head``."""
        return View(self._messages, start, len(self._messages), head)

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, index: int) -> Message:
        return self._messages[index]

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)


def _bytes(message: Message) -> bytes:
    """The message's content, each part with its length, so that no two have the same bytes."""
    if isinstance(message, ToolMessage):
        call, tool, content = message.call_id, message.tool, message.content
        parts = ["ToolMessage", call, tool, content, str(message.is_error)]
    elif isinstance(message, Assistant):
        parts = ["Assistant", message.text]
        for one in message.calls:
            parts += [one.id, one.name, one.arguments]
        for thought in message.reasoning:
            parts += [thought.text, thought.signature, thought.provider, thought.data]
    else:
        kind = type(message).__name__
        parts = [kind, message.text, message.origin if isinstance(message, User) else ""]
    text = "".join([f"{len(part)}:{part}" for part in parts])
    if text.isascii():  # so a character is a byte, and the lengths are right
        return f"{text}\n".encode()
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join([b"%d:%b" % (len(part), part) for part in encoded]) + b"\n"


def message_size(message: Message) -> int:
    """Characters of a message, as the limit of a conversation counts them."""
    if isinstance(message, ToolMessage):
        return len(message.content)
    if isinstance(message, Assistant):
        return len(message.text) + sum(len(c.name) + len(c.arguments) for c in message.calls)
    return len(message.text)


Compactor = Callable[[Sequence[Message]], Awaitable[str | None]]
"""Sums up messages that are about to be left out; None: the plain note says it."""


@dataclass(slots=True)
class Trimmer:
    """Leaves the oldest rounds out of what is sent once a conversation is too long.

    A round is an answer with all its results and the notes after them; it is left out whole. The
    system message, the latest request of the user and the last round always stay. When trimming
    starts, it goes down to ``target`` of the limit, so that the next requests share a beginning.

    Attributes:
        characters: the most that is sent; None sends everything.
        target: the part of it that is kept when rounds are left out.
        compact: sums up what is left out.
    """

    characters: int | None = None
    target: float = 0.75
    compact: Compactor | None = None
    omitted: int = 0
    fits: bool = True
    _seen: int = 0
    _size: int = 0
    _system: int = 0
    _starts: list[int] = field(default_factory=list)
    _sizes: list[int] = field(default_factory=list)
    _first: int = 0
    _request: int = -1
    _note: str | None = None

    async def view(self, transcript: Transcript) -> View:
        """What of the conversation is to be sent."""
        if self.characters is None:
            return transcript.view()
        self._measure(transcript)
        if self._size > self.characters:
            await self._drop(transcript, int(self.characters * self.target))
        self.fits = self._size <= self.characters
        if not self._first:
            return transcript.view()
        start = self._starts[self._first]
        head: list[Message] = list(transcript.view()[: self._system])
        if 0 <= self._request < start:
            head.append(transcript[self._request])
        head.append(User(self._note or _note(self.omitted), origin="context"))
        return transcript.view(start, tuple(head))

    def _measure(self, transcript: Transcript) -> None:
        """Look at the messages since the last time."""
        for index in range(self._seen, len(transcript)):
            message = transcript[index]
            size = message_size(message)
            self._size += size
            if isinstance(message, System) and not index:
                self._system = 1
                continue
            is_request = isinstance(message, User) and message.origin == "user"
            if is_request:
                self._request = index
            if is_request or isinstance(message, Assistant) or not self._starts:
                self._starts.append(index)
                self._sizes.append(0)
            self._sizes[-1] += size
        self._seen = len(transcript)

    async def _drop(self, transcript: Transcript, goal: int) -> None:
        """Leave out the oldest units until the rest fits; the last round stays."""
        before = self._first
        last = len(self._starts) - 1
        while self._size > goal and self._first < last:
            if self._starts[self._first] != self._request:
                self._size -= self._sizes[self._first]
            self._first += 1
        if self._first == before:
            return
        start = self._starts[self._first]
        kept = self._system + (1 if 0 <= self._request < start else 0)
        self.omitted = start - kept
        self._note = None
        if self.compact is not None:
            gone = [
                transcript[index] for index in range(self._system, start) if index != self._request
            ]
            self._note = await self.compact(gone)


def _note(omitted: int) -> str:
    return f"[{omitted} earlier messages of this conversation were left out here to save space.]"
