"""A connection that is listened to: whatever became of it meanwhile, the listener hears its end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runners.docker.endpoint import Endpoint
from runners.docker.stream import Stream, dial

Act = Callable[[socket.socket], object]


@asynccontextmanager
async def connected(folder: Path, act: Act) -> AsyncIterator[Stream]:
    """A connection to somebody who was sent a byte and did something before anybody listened."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "engine"))
        listener.listen()
        stream = await dial(Endpoint("unix", str(folder / "engine"), "unix:///engine"))
        await stream.write(b"unread")
        peer, _ = listener.accept()
        with peer:
            act(peer)
            for _ in range(3):  # turns of the loop, in which it is noticed
                await asyncio.sleep(0)
            yield stream
            await stream.close()


async def heard(stream: Stream) -> list[bytes]:
    """What a listener is given, to the end."""
    pieces: list[bytes] = []
    over = asyncio.Event()

    def hear(piece: bytes) -> None:
        pieces.append(piece)
        if not piece:
            over.set()

    assert await stream.listen(hear)
    await over.wait()
    return pieces


def speak_and_end(peer: socket.socket) -> None:
    peer.sendall(b"before")
    peer.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize(
    ("act", "pieces"),
    [
        (speak_and_end, [b"before", b""]),
        (lambda peer: peer.shutdown(socket.SHUT_RDWR), [b""]),
        (socket.socket.close, [b""]),  # with what we sent unread: the connection is reset
    ],
    ids=["said something", "ended", "broke"],
)
async def test_what_came_before_a_listener_is_heard_and_so_is_the_end(act, pieces, tmp_path):
    async with connected(tmp_path, act) as stream:
        assert await heard(stream) == pieces
