"""One runner for a whole batch: chosen and swept once, with sessions kept ready in docker.

There a session also ends behind its run: containers share nothing, so a removal that is under way
disturbs neither the verification nor the next task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from types import TracebackType

from harness.batch.closing import ClosedBehind, Closing
from policies import Isolation
from runners import Front, Pool, Runner, Session, SessionSpec, choose

__all__ = ["SharedBoxes"]

Key = tuple[str, Isolation, Isolation | None, str | None]


class SharedBoxes:
    """Chooses boxes for the runs of a batch; use it as an asynchronous context.

    What `auto` came to stays for the batch: a box that fails for a while is waited for, and no
    other one takes its place unseen.
    """

    def __init__(self, ready: int) -> None:
        """So many sessions are kept ready."""
        self._ready = ready
        self._expected: int | None = None
        self._chosen: dict[Key, Runner] = {}
        self._pinned: dict[Key, str] = {}
        self._closing = Closing()
        self._pools: list[Pool] = []
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> SharedBoxes:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._closing.wait()
        finally:
            await self._stack.aclose()

    async def choose(
        self,
        name: str,
        need: Isolation,
        accept: Isolation | None = None,
        runtime: str | None = None,
    ) -> Runner:
        """The runner for a run, as `runners.choose` would give it."""
        key = (name, need, accept, runtime)
        if key not in self._chosen:
            runner = await choose(self._pinned.get(key, name), need, accept, runtime)
            self._pinned[key] = runner.name
            close = getattr(runner, "close", None)
            if close is not None:
                self._stack.push_async_callback(close)
            if runner.name == "docker":
                pool = Pool(runner, size=self._ready)
                self._pools.append(pool)
                runner = await self._stack.enter_async_context(pool)
                runner = ClosedBehind(runner, self._closing)
            self._chosen.setdefault(key, SweptOnce(runner, self._count))
        return self._chosen[key]

    def expect(self, sessions: int) -> None:
        """About so many sessions will be opened: none is started that nobody will take."""
        self._expected = sessions

    def _count(self) -> None:
        """One of the expected sessions is being opened."""
        if self._expected is None:
            return
        self._expected = max(0, self._expected - 1)
        for pool in self._pools:
            pool.keep(min(self._ready, self._expected))

    def forget(self) -> None:
        """Choose anew next time: something failed."""
        self._chosen.clear()


class SweptOnce(Front):
    """A runner whose sweep is done by the first that asks, and whose sessions are counted."""

    def __init__(self, runner: Runner, count: Callable[[], None]) -> None:
        super().__init__(runner)
        self._count = count
        self._swept = False

    async def open(self, spec: SessionSpec) -> Session:
        """As the runner."""
        self._count()
        return await super().open(spec)

    async def sweep(self) -> Sequence[str]:
        """Once for all runs."""
        if self._swept:
            return ()
        self._swept = True
        return await super().sweep()
