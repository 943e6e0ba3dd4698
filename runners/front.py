"""A runner in front of another: what it does not do itself is done by that one."""

from __future__ import annotations

from collections.abc import Sequence

from runners.contract import Probe, Runner, Session, SessionSpec

__all__ = ["Front"]


class Front:
    """Implements ``runners.contract.Runner`` by another runner; sub-classes change something."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    @property
    def name(self) -> str:
        """Of the box."""
        return self._runner.name

    async def probe(self) -> Probe:
        """As the runner."""
        return await self._runner.probe()

    async def open(self, spec: SessionSpec) -> Session:
        """As the runner."""
        return await self._runner.open(spec)

    async def sweep(self) -> Sequence[str]:
        """As the runner."""
        return await self._runner.sweep()
