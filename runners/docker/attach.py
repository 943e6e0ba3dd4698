"""The attached streams of a container, on asyncio.

The SDK's own attach is not used: it blocks, and closing it does not close the connection. One HTTP
request that is upgraded gives the raw stream: what goes in is standard input as it is, what comes
out carries an 8-byte head before each piece (stream number, three zeros, length).
"""

from __future__ import annotations

import json
from collections import deque

from runners.docker.stream import Stream
from runners.errors import ProtocolError, StartError

__all__ = ["Demultiplexer", "attach"]

HEAD_BYTES = 8
STDOUT = 1
STDERR = 2
KEPT_STDERR_BYTES = 4096  # the supervisor's own last words; programs never write there
ANSWER_BYTES = 1 << 16


class Demultiplexer:
    """Splits what comes from the engine into standard output and a tail of standard error.

    Pieces may arrive cut anywhere, also inside a head. It holds no more than was fed last.
    """

    def __init__(self) -> None:
        self.stderr = b""
        self._head = b""
        self._left = 0
        self._stream = STDOUT
        self._ready: deque[memoryview] = deque()

    def feed(self, data: bytes) -> None:
        """Take bytes as they came."""
        view = memoryview(data)
        while view:
            if not self._left:
                view = self._take_head(view)
                continue
            piece, view = view[: self._left], view[self._left :]
            self._left -= len(piece)
            if self._stream == STDERR:
                self.stderr = (self.stderr + bytes(piece))[-KEPT_STDERR_BYTES:]
            else:
                self._ready.append(piece)

    def take(self, limit: int) -> bytes:
        """Up to ``limit`` bytes of standard output; b"" when more must be fed first."""
        if not self._ready:
            return b""
        piece = self._ready.popleft()
        if len(piece) > limit:
            self._ready.appendleft(piece[limit:])
            piece = piece[:limit]
        return bytes(piece)

    def _take_head(self, view: memoryview) -> memoryview:
        missing = HEAD_BYTES - len(self._head)
        self._head += bytes(view[:missing])
        if len(self._head) == HEAD_BYTES:
            self._stream = self._head[0]
            self._left = int.from_bytes(self._head[4:], "big")
            if self._stream not in (STDOUT, STDERR) or self._head[1:4] != b"\0\0\0":
                raise ProtocolError(f"the engine sent a damaged stream head: {self._head.hex()}")
            self._head = b""
        return view[missing:]


async def attach(stream: Stream, api_version: str, container: str) -> None:
    """Upgrade a fresh connection to the streams of a created container."""
    query = "stream=1&stdin=1&stdout=1&stderr=1"
    request = (
        f"POST /v{api_version}/containers/{container}/attach?{query} HTTP/1.1\r\n"
        "Host: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n"
    )
    await stream.write(request.encode("ascii"))
    head = await stream.read_until(b"\r\n\r\n", ANSWER_BYTES)
    status = head.split(b" ", 2)[1:2]
    if status not in ([b"101"], [b"200"]):
        body = await stream.read(ANSWER_BYTES)
        raise StartError(f"the engine refused to attach: {reason_of(head, body)}")


def reason_of(head: bytes, body: bytes) -> str:
    """The engine's message, else its status line."""
    start = body.find(b"{")
    try:
        return str(json.loads(body[start : body.rindex(b"}") + 1])["message"])
    except (ValueError, KeyError, TypeError):
        return head.split(b"\r\n", 1)[0].decode("latin-1")
