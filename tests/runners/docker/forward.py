"""A port of loopback that leads to the engine's path socket, with or without TLS."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runners.docker.endpoint import find_endpoint


async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
        else:
            writer.close()
    except OSError:
        writer.close()


@contextlib.asynccontextmanager
async def forwarded_port(context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    local = find_endpoint(os.environ, Path.home())
    if not local.local:
        pytest.skip("the engine is remote already")
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_unix_connection(local.address)
        writers.extend((writer, inner_writer))
        await asyncio.gather(pipe(reader, inner_writer), pipe(inner_reader, writer))
        writer.close()
        inner_writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.close()
        await asyncio.gather(*[w.wait_closed() for w in writers], return_exceptions=True)
