"""Chooses the box and opens sessions in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from harness.run.wish import BoxWish
from policies import Isolation, Limits
from runners import Runner, Session, SessionSpec, choose

__all__ = ["Box", "Chooser", "sized"]


Chooser = Callable[[str, Isolation, Isolation | None, str | None], Awaitable[Runner]]
"""Gives a runner: by name, needed level, accepted level and runtime."""


def sized(spec: SessionSpec, size: int, notice: Callable[[str], None]) -> SessionSpec:
    """The spec for a workspace of this many bytes.

    A small one is not named: boxes for small workspaces are all alike, and can be kept ready.
    """
    mib = -(-size >> 20)
    if 2 * mib <= spec.limits.disk_mib:
        return spec
    return replace(spec, workspace_mib=mib, notice=notice)


class Box:
    """The chosen runner, and the sessions that one run opens in it.

    Every session is closed by ``close``, which may be called twice.
    """

    def __init__(self, runner: Runner, spec: SessionSpec) -> None:
        self.runner = runner
        self.spec = spec
        self.sessions: list[Session] = []

    @classmethod
    async def choose(
        cls,
        wish: BoxWish,
        need: Isolation,
        *,
        run: str,
        limits: Limits,
        workdir: str = "/workspace",
        env: tuple[tuple[str, str], ...] = (),
        chooser: Chooser = choose,
    ) -> Box:
        """The box that meets the wish and the level, or UnavailableError with the cure."""
        runner = await chooser(wish.runner, need, wish.accept, wish.runtime)
        spec = SessionSpec(
            run=run,
            image=wish.image,
            workspace=workdir,
            limits=limits,
            env=env,
            runtime=wish.runtime,
        )
        return cls(runner, spec)

    async def sweep(self) -> Sequence[str]:
        """Remove what dead harnesses left in this kind of box."""
        return await self.runner.sweep()

    async def open(self, spec: SessionSpec | None = None) -> Session:
        """A fresh session, of another kind where a spec is given."""
        session = await self.runner.open(spec or self.spec)
        self.sessions.append(session)
        return session

    async def close_one(self, session: Session) -> None:
        """End one session; the others live on."""
        self.sessions.remove(session)
        await session.close()

    async def close(self) -> None:
        """End all sessions."""
        while self.sessions:
            await self.sessions.pop().close()
