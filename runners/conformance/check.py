"""What a conformance check is: a name, the promise of `runners.Session` it holds a box to, a body.

A check opens sessions through the factory it is given and raises BrokenPromiseError with one
sentence when a session does not do what was promised. Checks observe a box through its sessions
alone, so they hold for a box on another machine too.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from policies import FromText, Limits, Pipeline, Stage
from runners.contract import OnOutput, Session, SessionSpec
from runners.outcome import Fault, Outcome

__all__ = [
    "BrokenPromiseError",
    "Check",
    "NotHereError",
    "Opening",
    "Registry",
    "expect",
    "expect_fault",
    "opening",
    "promised",
    "python",
    "run",
    "within",
]


DEFAULT = Limits()


class BrokenPromiseError(AssertionError):
    """A box did not do what the contract promises; the message says what was seen."""


class NotHereError(Exception):
    """A check says nothing on this machine or this box; the message says why."""


class Opening(Protocol):
    """Opens a session that is closed at the end of the block."""

    def __call__(
        self, limits: Limits = ..., env: tuple[tuple[str, str], ...] = ...
    ) -> AbstractAsyncContextManager[Session]:
        """A session with these limits and variables."""
        ...


@dataclass(frozen=True, slots=True)
class Check:
    """One promise, tried.

    Attributes:
        name: stable, as `doctor --conformance --json` shows it.
        promise: its number in the docstring of `runners.Session`.
        body: raises BrokenPromiseError.
    """

    name: str
    promise: int
    body: Callable[[Opening], Awaitable[None]]


class Registry:
    """Collects the checks of one module, in the order of their definition."""

    def __init__(self) -> None:
        self.checks: list[Check] = []

    def __call__(
        self, promise: int
    ) -> Callable[[Callable[[Opening], Awaitable[None]]], Callable[[Opening], Awaitable[None]]]:
        """Register the decorated function under its own name."""

        def register(
            body: Callable[[Opening], Awaitable[None]],
        ) -> Callable[[Opening], Awaitable[None]]:
            self.checks.append(Check(body.__name__.replace("_", "-"), promise, body))
            return body

        return register


def opening(open_session: Callable[[SessionSpec], Awaitable[Session]], image: str) -> Opening:
    """The factory that checks use, from a runner's ``open``."""

    @contextlib.asynccontextmanager
    async def block(
        limits: Limits = DEFAULT, env: tuple[tuple[str, str], ...] = ()
    ) -> AsyncIterator[Session]:
        session = await open_session(
            SessionSpec(run="conformance", image=image, limits=limits, env=env)
        )
        try:
            yield session
        finally:
            await session.close()

    return block


async def run(
    session: Session,
    *argv: str,
    stdin: bytes | None = None,
    cwd: str = ".",
    limits: Limits | None = None,
    on_output: OnOutput | None = None,
) -> Outcome:
    """Run one program."""
    source = None if stdin is None else FromText(stdin)
    pipeline = Pipeline((Stage(argv, stdin=source),))
    return await session.run(pipeline, cwd=cwd, limits=limits, on_output=on_output)


async def python(
    session: Session,
    code: str,
    *arguments: str,
    stdin: bytes | None = None,
    limits: Limits | None = None,
    on_output: OnOutput | None = None,
) -> Outcome:
    """Run a Python program given as text; its own start-up files are left alone."""
    argv = ("python3", "-c", code, *arguments)
    return await run(session, *argv, stdin=stdin, limits=limits, on_output=on_output)


async def printed(session: Session, code: str, *arguments: str) -> str:
    """What a Python program prints; it is expected to end well."""
    outcome = await python(session, code, *arguments)
    if not outcome.ok:
        raise BrokenPromiseError(f"a harmless program failed: {outcome.stderr.text()[-500:]}")
    return outcome.stdout.text().strip()


def expect(actual: object, expected: object, what: str) -> None:
    """Broken unless both are equal."""
    if actual != expected:
        raise BrokenPromiseError(f"{what}: expected {expected!r:.400}, saw {actual!r:.400}")


def promised(truth: object, sentence: str) -> None:
    """Broken, with this sentence, unless true."""
    if not truth:
        raise BrokenPromiseError(sentence)


def expect_fault(result: object, codes: str, what: str) -> None:
    """Broken unless the result is a Fault with one of these codes."""
    if not isinstance(result, Fault) or result.code not in codes.split():
        raise BrokenPromiseError(f"{what}: expected a fault of {codes}, saw {result!r:.400}")


@contextlib.contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    """Broken when the block takes longer."""
    start = time.monotonic()
    yield
    took = time.monotonic() - start
    if took > seconds:
        raise BrokenPromiseError(f"{what} took {took:.1f} s, promised are {seconds:g} s")
