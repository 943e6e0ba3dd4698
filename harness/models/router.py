"""Several models behind one: chosen by rule, with a chain of others to fall back on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.errors import ConfigError, ModelError
from harness.model import Model, ModelRequest, Reply

__all__ = ["Router", "Routes"]


@dataclass(frozen=True, slots=True)
class Routes:
    """Which model answers.

    Attributes:
        models: by name.
        chain: names in the order in which they are tried; unknown names are skipped.
        tasks: for a kind of task the names that are tried first.
    """

    models: Mapping[str, Model]
    chain: Sequence[str]
    tasks: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def order(self, task: str, explicit: str) -> list[str]:
        """The names to try, each once: the explicit one alone, else by task, then the chain."""
        if explicit:
            if explicit not in self.models:
                known = ", ".join(sorted(self.models))
                raise ConfigError(f"no model {explicit!r} is configured; known: {known}")
            return [explicit]
        names = [*self.tasks.get(task, ()), *self.chain]
        return [name for name in dict.fromkeys(names) if name in self.models]


class Router:
    """A model that hands each request to others.

    Promises:
     1. A request that is under way keeps the routes that it began with.
     2. The next of the chain is asked only when nothing of an answer was passed on yet.
     3. When all fail, the error names each of them.
    """

    def __init__(self, routes: Routes, *, task: str = "", explicit: str = "") -> None:
        self._routes = routes
        self._task = task
        self._explicit = explicit
        self._order = self._ordered(routes)

    @property
    def name(self) -> str:
        """The names in their order."""
        return "router:" + ",".join(self._order)

    def reconfigure(self, routes: Routes) -> None:
        """Use other routes from the next request on; a chain without a model is refused."""
        order = self._ordered(routes)
        self._routes, self._order = routes, order

    async def generate(self, request: ModelRequest, /) -> Reply:
        """The first answer that one of the chain gives."""
        routes, order = self._routes, self._order
        errors: list[str] = []
        for name in order:
            passed = _Passed(request)
            try:
                return await routes.models[name].generate(passed.request)
            except ModelError as error:
                if request.signal.cancelled or passed.content or len(order) == 1:
                    raise
                errors.append(f"{name}: {error}")
        raise ModelError("every model of the chain failed: " + "; ".join(errors))

    def _ordered(self, routes: Routes) -> list[str]:
        order = routes.order(self._task, self._explicit)
        if not order:
            raise ConfigError("no model of the chain is configured")
        return order


class _Passed:
    """A request that knows whether content was passed on."""

    def __init__(self, request: ModelRequest) -> None:
        self.content = False
        self._to = request.on_chunk
        self.request = (
            request
            if self._to is None
            else ModelRequest(
                request.messages, request.tools, request.signal, self._chunk, request.on_attempt
            )
        )

    def _chunk(self, chunk: object) -> None:
        self.content = True
        if self._to is not None:
            self._to(chunk)
