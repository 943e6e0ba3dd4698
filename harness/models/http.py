"""A model behind HTTP: one dialect, one endpoint, bounded in time and size, retried with care."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Protocol, Self

import httpx
import tenacity

from harness.errors import ModelError
from harness.model import Attempt, ModelRequest, Reply, Usage
from harness.models.chunk import Assembler, CallDelta, Chunk, ReasoningDelta, TextDelta
from harness.models.fault import WireError, fault_of_status
from harness.models.sse import Event, EventParser

__all__ = ["Bounds", "Dialect", "HttpModel", "Price"]

ERROR_BODY = 64 << 10
"""Bytes of an error body that are read; the words are in front."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one request may take, its retries included."""

    total_seconds: float = 600.0
    connect_seconds: float = 10.0
    idle_seconds: float = 120.0
    max_bytes: int = 32 << 20
    attempts: int = 5
    first_wait_seconds: float = 0.5
    longest_wait_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Price:
    """What the operator says a million tokens cost; nothing is known of it otherwise."""

    input: float
    output: float
    cached: float | None = None

    def cost(self, usage: Usage) -> float | None:
        """The cost of what was reported, None where the provider left a part out."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = usage.cached_tokens or 0
        fresh = usage.input_tokens - cached
        cheap = self.input if self.cached is None else self.cached
        return (fresh * self.input + cached * cheap + usage.output_tokens * self.output) / 1e6


class Reader(Protocol):
    """Reads the events of one streamed answer."""

    done: bool

    def read(self, event: Event) -> Iterator[Chunk]:
        """The chunks of one event."""
        ...

    def close(self) -> Iterator[Chunk]:
        """What is left at the end of the stream."""
        ...


class Dialect(Protocol):
    """A wire protocol: pure translation, no input or output."""

    name: str
    default_base: str
    default_model: str

    def url(self, base: str) -> str:
        """Where a request goes."""
        ...

    def headers(self, key: str) -> dict[str, str]:
        """What authorises it."""
        ...

    def body(
        self, request: ModelRequest, model: str, *, stream: bool, max_tokens: int | None
    ) -> dict[str, Any]:
        """The JSON body."""
        ...

    def reader(self) -> Reader:
        """What reads a streamed answer."""
        ...

    def chunks(self, document: object) -> Iterator[Chunk]:
        """The chunks of an answer that was not streamed."""
        ...


class HttpModel:
    """A model at an endpoint.

    Promises:
     1. A fault that may pass is tried again with growing, jittered waits, or after what the
        server asks for; never once content was passed on to ``request.on_chunk``.
     2. Everything ends at ``bounds.total_seconds``; no answer is held beyond ``max_bytes``.
     3. A cancelled signal closes the connection at once.
     4. The key is in the request's headers and nowhere else: no error, no log, no repr.
     5. Redirects are not followed: a key goes to the named host only.
    """

    def __init__(  # noqa: PLR0913 - keywords that a configuration fills
        self,
        dialect: Dialect,
        *,
        base: str,
        model: str,
        key: str = "",
        bounds: Bounds | None = None,
        stream: bool = True,
        max_tokens: int | None = None,
        price: Price | None = None,
    ) -> None:
        self.name = f"{dialect.name}:{model}"
        self._dialect = dialect
        self._url = dialect.url(base)
        self._model = model
        self._key = key
        self._bounds = bounds or Bounds()
        self._stream = stream
        self._max_tokens = max_tokens
        self._price = price
        self._client: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        """Use it in `async with` to close its connections at the end."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections that are kept open; a later request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def generate(self, request: ModelRequest, /) -> Reply:
        """Answer one request, or raise ModelError with the server's own words."""
        if request.signal.cancelled:
            raise ModelError("the request was cancelled before it was sent")
        task = asyncio.ensure_future(self._attempts(request))
        forget = request.signal.subscribe(_Cancel(task))
        try:
            async with asyncio.timeout(self._bounds.total_seconds):
                return await task
        except TimeoutError:
            seconds = self._bounds.total_seconds
            raise ModelError(f"{self.name}: no whole answer within {seconds:g} seconds") from None
        except asyncio.CancelledError:
            if request.signal.cancelled and not _cancelled_from_outside():
                raise ModelError(f"{self.name}: the request was cancelled") from None
            raise
        except WireError as fault:
            raise ModelError(f"{self.name}: {self._clean(fault)}", status=fault.status) from None
        finally:
            forget()
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _attempts(self, request: ModelRequest) -> Reply:
        tries = _Tries(request, self.name, self._bounds, self._clean)
        async for attempt in tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(tries.may_retry),
            stop=tenacity.stop_after_attempt(self._bounds.attempts),
            wait=tries.wait,
            before_sleep=tries.failed,
            reraise=True,
        ):
            with attempt:
                tries.begin()
                try:
                    reply = await self._attempt(request, tries)
                except WireError as fault:
                    tries.fault = fault
                    if not tries.goes_on():
                        tries.report(ok=False, wait=0.0)
                    raise
                tries.report(ok=True, wait=0.0)
                return reply
        raise AssertionError("tenacity ends by returning or raising")

    async def _attempt(self, request: ModelRequest, tries: _Tries) -> Reply:
        assembler = Assembler()
        body = self._dialect.body(
            request, self._model, stream=self._stream, max_tokens=self._max_tokens
        )
        async for chunk in self._chunks(body):
            assembler.feed(chunk)
            if request.on_chunk is not None:
                tries.passed = tries.passed or isinstance(
                    chunk, TextDelta | CallDelta | ReasoningDelta
                )
                request.on_chunk(chunk)
        if not assembler.finished:
            raise WireError("the stream ended before the answer was whole", retryable=True)
        return self._priced(assembler.reply())

    async def _chunks(self, body: dict[str, Any]) -> AsyncIterator[Chunk]:
        try:
            async with self._open().stream(
                "POST",
                self._url,
                content=json.dumps(body, allow_nan=False).encode(),
                headers={"Content-Type": "application/json", **self._dialect.headers(self._key)},
            ) as response:
                if response.status_code != 200:
                    raise await _refusal(response)
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                if kind == "text/event-stream":
                    async for chunk in self._events(response):
                        yield chunk
                else:
                    for chunk in self._dialect.chunks(await self._document(response)):
                        yield chunk
        except httpx.HTTPError as error:
            raise _of_transport(error) from error
        except httpx.InvalidURL as error:
            raise WireError(f"the address cannot be used: {error}") from error

    async def _events(self, response: httpx.Response) -> AsyncIterator[Chunk]:
        parser, reader = EventParser(), self._dialect.reader()
        async for data in self._bounded(response):
            for event in parser.feed(data):
                for chunk in reader.read(event):
                    yield chunk
                if reader.done:
                    return
        for event in parser.close():
            for chunk in reader.read(event):
                yield chunk
        for chunk in reader.close():
            yield chunk

    async def _document(self, response: httpx.Response) -> object:
        data = b"".join([part async for part in self._bounded(response)])
        try:
            document: object = json.loads(data)
        except ValueError:
            words = fault_of_status(200, {}, data[:ERROR_BODY])
            raise WireError(f"the answer is no JSON: {words}", retryable=True) from None
        return document

    async def _bounded(self, response: httpx.Response) -> AsyncIterator[bytes]:
        left = self._bounds.max_bytes
        async for data in response.aiter_bytes():
            left -= len(data)
            if left < 0:
                raise WireError(f"the answer is over {self._bounds.max_bytes} bytes")
            yield data

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            timeout = httpx.Timeout(self._bounds.idle_seconds, connect=self._bounds.connect_seconds)
            self._client = httpx.AsyncClient(timeout=timeout, follow_redirects=False)
        return self._client

    def _priced(self, reply: Reply) -> Reply:
        if self._price is None or reply.usage is None or reply.usage.cost is not None:
            return reply
        return replace(reply, usage=replace(reply.usage, cost=self._price.cost(reply.usage)))

    def _clean(self, error: BaseException) -> str:
        text = str(error)
        return text.replace(self._key, "[key]") if len(self._key) > 3 else text


class _Cancel:
    """Cancels a task; what a Signal calls back."""

    def __init__(self, task: asyncio.Future[Reply]) -> None:
        self._task = task

    def __call__(self) -> None:
        self._task.cancel()


class _Tries:
    """Decides on and reports the attempts of one request."""

    def __init__(
        self,
        request: ModelRequest,
        model: str,
        bounds: Bounds,
        clean: Callable[[BaseException], str],
    ) -> None:
        self._request = request
        self._model = model
        self._bounds = bounds
        self._clean = clean
        self._deadline = asyncio.get_running_loop().time() + bounds.total_seconds
        self._number = 0
        self._next_wait: float | None = None
        self.passed = False
        self.fault: WireError | None = None

    def begin(self) -> None:
        self._number += 1
        self._next_wait = None
        self.fault = None

    def may_retry(self, error: BaseException) -> bool:
        if not isinstance(error, WireError) or not error.retryable or self.passed:
            return False
        left = self._deadline - asyncio.get_running_loop().time()
        return self._wait_of(error) < left

    def goes_on(self) -> bool:
        fault = self.fault
        return fault is not None and self._number < self._bounds.attempts and self.may_retry(fault)

    def wait(self, state: tenacity.RetryCallState) -> float:
        del state
        return self._wait_of(self.fault)

    def failed(self, state: tenacity.RetryCallState) -> None:
        del state
        self.report(ok=False, wait=self._wait_of(self.fault))

    def report(self, *, ok: bool, wait: float) -> None:
        if self._request.on_attempt is None:
            return
        error = "" if self.fault is None else self._clean(self.fault)
        status = None if self.fault is None else self.fault.status
        self._request.on_attempt(Attempt(self._number, self._model, ok, error, status, wait))

    def _wait_of(self, fault: WireError | None) -> float:
        if self._next_wait is None:
            if fault is not None and fault.after is not None:
                self._next_wait = fault.after
            else:
                top = self._bounds.first_wait_seconds * 2 ** (self._number - 1)
                top = min(top, self._bounds.longest_wait_seconds)
                self._next_wait = random.uniform(top / 2, top)  # noqa: S311 - no secret
        return self._next_wait


def _cancelled_from_outside() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _refusal(response: httpx.Response) -> WireError:
    body = b""
    async for data in response.aiter_bytes():
        body += data
        if len(body) >= ERROR_BODY:
            break
    if 300 <= response.status_code < 400:
        return WireError(
            f"the server answered {response.status_code}, a redirect; "
            "redirects are not followed: name the final address as the base URL",
            status=response.status_code,
        )
    return fault_of_status(response.status_code, response.headers, body[:ERROR_BODY])


def _of_transport(error: httpx.HTTPError) -> WireError:
    """Every transport error of httpx as a fault; those of connections may pass."""
    if isinstance(error, httpx.UnsupportedProtocol):
        return WireError(f"the address cannot be used: {error}")
    if isinstance(error, httpx.DecodingError):
        return WireError(f"the answer cannot be decoded: {error}")
    words: dict[type[httpx.HTTPError], str] = {
        httpx.ConnectTimeout: "no connection in time",
        httpx.ConnectError: "no connection",
        httpx.ReadTimeout: "the server fell silent",
        httpx.WriteTimeout: "the server stopped reading",
        httpx.ReadError: "the connection broke",
        httpx.RemoteProtocolError: "the server broke the protocol or closed the connection",
    }
    said = words.get(type(error), type(error).__name__)
    detail = f": {error}" if str(error) else ""
    return WireError(f"{said}{detail}", retryable=True)
