"""Plugins: everything is registered through one context, and undone in reverse order."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

from harness.agent import Agent
from harness.bus import Events, Subscriber
from harness.errors import ConfigError, RegistrationError
from harness.hook import AroundHook, Guard, Hooks, Observer, PostHook, PreHook
from harness.model import Model
from harness.prompt import AssembleHook, Prompt
from harness.prompt import Text as PromptText
from harness.registry import Registry
from harness.service import Key, Services

__all__ = [
    "EVENTS",
    "HOOKS",
    "LOOP",
    "MODEL",
    "PROMPT",
    "TOOLS",
    "Context",
    "Fiber",
    "Plugin",
    "installed_plugins",
    "load_plugin",
]

MODEL: Key[Model] = Key("model")
TOOLS: Key[Registry] = Key("tools")
HOOKS: Key[Hooks] = Key("hooks")
PROMPT: Key[Prompt] = Key("prompt")
EVENTS: Key[Events] = Key("events")
LOOP: Key[Agent] = Key("loop")

GROUP = "stockade.plugins"
"""The entry point group of installed plugins."""

Disposer: TypeAlias = Callable[[], object]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plugin:
    """A named piece of behaviour.

    Attributes:
        name: for messages.
        setup: registers through the context it gets; plain or a coroutine.
        needs: services that must be there; it is started when they are, stopped when one goes,
            and started again when it returns.
    """

    name: str
    setup: Callable[[Context, Mapping[str, Any]], Awaitable[None] | None]
    needs: tuple[Key[Any], ...] = ()


@dataclass(slots=True)
class Fiber:
    """A loaded plugin: running or waiting for what it needs."""

    plugin: Plugin
    config: Mapping[str, Any]
    owner: Context
    running: Context | None = None
    error: Exception | None = None
    unwatch: Callable[[], None] = field(default=lambda: None)

    @property
    def missing(self) -> tuple[str, ...]:
        """The services that it waits for."""
        return tuple(key.name for key in self.plugin.needs if key not in self.owner.services)

    async def update(self) -> None:
        """Start if all is there and it is not running, stop if something went."""
        if self.running is None and not self.missing:
            context = self.owner.child(self.plugin.name)
            self.running = context
            try:
                done = self.plugin.setup(context, self.config)
                if inspect.isawaitable(done):
                    await done
            except Exception:
                self.running = None
                await context.dispose()
                raise
        elif self.running is not None and self.missing:
            await self.stop()

    async def stop(self) -> None:
        """Undo what the plugin registered."""
        context, self.running = self.running, None
        if context is not None:
            await context.dispose()


class Context:
    """Where a program, or a plugin of it, registers what it adds.

    Promises:
     1. Everything registered here is undone by ``dispose``, in reverse order, once.
     2. Nothing can be registered after that.
     3. A service that is not mounted is a clear ServiceError.
    """

    def __init__(self, name: str = "root", *, services: Services | None = None) -> None:
        self.name = name
        self.services = services or Services()
        self._undo: list[Disposer] = []
        self._fibers: list[Fiber] = []
        self._disposed = False

    def child(self, name: str) -> Context:
        """A context with the same services; undone by its own ``dispose``."""
        return Context(name, services=self.services)

    def isolated(self, name: str) -> Context:
        """A context that sees these services and mounts its own without touching them."""
        return Context(name, services=Services(self.services))

    def effect(self, undo: Disposer) -> Disposer:
        """Own what takes something back; also a coroutine function."""
        if self._disposed:
            raise RegistrationError(f"{self.name}: is disposed, nothing can be registered")
        self._undo.append(undo)
        return undo

    async def provide(self, key: Key[T], service: T) -> Disposer:
        """Mount a service and start what waited for it."""
        undo = self.effect(self.services.provide(key, service))
        await self.settle()
        return undo

    async def withdraw(self, undo: Disposer) -> None:
        """Undo one registration now, and stop what needed it."""
        if undo in self._undo:
            self._undo.remove(undo)
        await _call(undo)
        await self.settle()

    async def load(self, plugin: Plugin, config: Mapping[str, Any] | None = None) -> Fiber:
        """Load a plugin; it starts now, or when what it needs is there."""
        fiber = Fiber(plugin, dict(config or {}), self)
        self.effect(fiber.stop)
        self._fibers.append(fiber)
        try:
            await fiber.update()
        except Exception:
            await self.unload(fiber)
            raise
        await self.settle()
        return fiber

    async def unload(self, fiber: Fiber) -> None:
        """Unload a plugin; what it registered is gone afterwards."""
        if fiber in self._fibers:
            self._fibers.remove(fiber)
            self._undo.remove(fiber.stop)
        await fiber.stop()
        await self.settle()

    async def settle(self) -> None:
        """Start and stop plugins until nothing changes any more."""
        changed = True
        while changed:
            changed = False
            for fiber in tuple(self._fibers):
                before = fiber.running
                await fiber.update()
                changed = changed or fiber.running is not before

    def tool(self, tool: object, *, replace: bool = False) -> Disposer:
        """Register a tool."""
        return self.effect(self.services[TOOLS].register(tool, replace=replace))

    def guard(self, guard: Guard) -> Disposer:
        """Register a guard."""
        return self.effect(self.services[HOOKS].guard(guard))

    def before(self, hook: PreHook) -> Disposer:
        """Register a pre-execute hook."""
        return self.effect(self.services[HOOKS].before(hook))

    def wrap(self, hook: AroundHook) -> Disposer:
        """Register an execute hook."""
        return self.effect(self.services[HOOKS].wrap(hook))

    def after(self, hook: PostHook) -> Disposer:
        """Register a post-execute hook."""
        return self.effect(self.services[HOOKS].after(hook))

    def observe(self, observer: Observer) -> Disposer:
        """Be told of final results."""
        return self.effect(self.services[HOOKS].observe(observer))

    def section(self, name: str, text: PromptText, *, order: float = 0) -> Disposer:
        """Register a prompt section."""
        return self.effect(self.services[PROMPT].section(name, text, order=order))

    def assemble(self, hook: AssembleHook) -> Disposer:
        """Rework the assembled prompt and tool list."""
        return self.effect(self.services[PROMPT].hook(hook))

    def subscribe(self, subscriber: Subscriber) -> Disposer:
        """Hear all events."""
        return self.effect(self.services[EVENTS].subscribe(subscriber))

    async def dispose(self) -> None:
        """Undo everything, the last first; safe to repeat."""
        self._disposed = True
        self._fibers.clear()
        errors: list[Exception] = []
        while self._undo:
            try:
                await _call(self._undo.pop())
            except Exception as error:  # the rest is undone all the same
                errors.append(error)
        if errors:
            raise ExceptionGroup(f"{self.name}: could not be undone", errors)

    async def __aenter__(self) -> Context:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.dispose()


async def _call(undo: Disposer) -> None:
    done = undo()
    if inspect.isawaitable(done):
        await done


def installed_plugins() -> dict[str, Callable[[], Plugin]]:
    """The plugins of installed distributions by name; calling one loads its code."""

    def loader(point: Any) -> Callable[[], Plugin]:  # noqa: ANN401 - EntryPoint
        return lambda: _checked(point.load(), point.name)

    return {point.name: loader(point) for point in entry_points(group=GROUP)}


def load_plugin(path: str | Path) -> Plugin:
    """The plugin of a Python file that the operator names: its module attribute ``plugin``.

    Nothing is ever looked for in a workspace.
    """
    source = Path(path)
    spec = importlib.util.spec_from_file_location(f"stockade_plugin_{source.stem}", source)
    if spec is None or spec.loader is None or not source.is_file():
        raise ConfigError(f"plugin {source}: there is no such Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ConfigError(f"plugin {source}: {type(error).__name__}: {error}") from error
    return _checked(getattr(module, "plugin", None), str(source))


def _checked(found: object, where: str) -> Plugin:
    if not isinstance(found, Plugin):
        raise ConfigError(f"plugin {where}: `plugin` is no harness.plugin.Plugin")
    return found
