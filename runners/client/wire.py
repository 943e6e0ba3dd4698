"""Reading what comes out of a box: bounded, strict, and nothing believed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any, NoReturn

from runners.channel import Channel
from runners.errors import ProtocolError
from runners.supervisor import frames

__all__ = ["Head", "Splitter", "read_frames"]

READ_SIZE = 256 * 1024
NUMBER_MAX = 1 << 62

Head = dict[str, Any]

KINDS: dict[str, dict[str, type]] = {
    "hello": {"version": int, "facts": dict},
    "fail": {"text": str},
    "out": {"c": int, "s": int, "at": int},
    "credit": {"c": int, "n": int},
    "stop": {"c": int},
    "done": {"c": int},
    "pong": {"n": int},
    "leave": {"text": str},
}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


DECODER = json.JSONDecoder(parse_constant=_no_constant)


class Splitter:
    """Frames out of bytes that come as they please."""

    def __init__(self) -> None:
        self._rest = bytearray()  # the beginning of a frame
        self._wanted = frames.LENGTHS.size

    def feed(self, data: bytes) -> Iterator[tuple[Head, bytes]]:
        """The frames that are whole with this; ProtocolError at the first wrong one."""
        if self._rest or len(data) < self._wanted:
            self._rest += data
            if len(self._rest) < self._wanted:
                return  # looked at once, however small the pieces are that a box sends
            data = bytes(self._rest)
            self._rest = bytearray()
        size = frames.LENGTHS.size
        self._wanted = size
        at = 0
        while len(data) - at >= size:
            head_size, body_size = frames.LENGTHS.unpack_from(data, at)
            if head_size > frames.HEAD_MAX or body_size > frames.BODY_MAX:
                raise ProtocolError(f"a frame of {head_size} + {body_size} bytes is too long")
            middle = at + size + head_size
            end = middle + body_size
            if len(data) < end:
                self._wanted = end - at
                break
            head = parse_head(data[at + size : middle])
            if body_size and head["t"] != "out":
                raise ProtocolError(f"a frame {head['t']} has a body")
            at = end
            yield head, data[middle:end]
        self._rest += data[at:]

    def end(self) -> None:
        """The box hung up; ProtocolError in the middle of a frame."""
        if self._rest:
            raise ProtocolError("the box hung up in the middle of a frame")


async def read_frames(channel: Channel) -> AsyncIterator[tuple[Head, bytes]]:
    """All frames until the box hangs up; ProtocolError at the first wrong one."""
    splitter = Splitter()
    while data := await channel.read(READ_SIZE):
        for frame in splitter.feed(data):
            yield frame
    splitter.end()


def parse_head(data: bytes) -> Head:
    """The JSON object of a frame, its keys and types checked."""
    try:
        text = data.decode("ascii")
        head, end = DECODER.raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a frame's head is not JSON: {error}") from None
    if end != len(text):
        raise ProtocolError("a frame's head goes on after its JSON")
    if not isinstance(head, dict):
        raise ProtocolError("a frame's head is not an object")
    wanted = KINDS.get(head.get("t", "")) if isinstance(head.get("t"), str) else None
    if wanted is None:
        raise ProtocolError(f"no frame is called {head.get('t')!r:.40}")
    for key, kind in wanted.items():
        value = head.get(key)
        if type(value) is not kind or value is None:
            raise ProtocolError(f"a frame {head['t']} has no {key} of type {kind.__name__}")
        if isinstance(value, int) and not 0 <= value < NUMBER_MAX:
            raise ProtocolError(f"a frame {head['t']} has a {key} out of range")
    return head
