"""Which tools there are, and who sees them."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from harness.errors import RegistrationError
from harness.frozen import frozen_copy
from harness.model import ToolDefinition
from harness.schema import Schema
from harness.tool import Tool, as_tool

__all__ = ["Disposer", "Entry", "Registry"]

Disposer: TypeAlias = Callable[[], None]
"""Takes exactly one registration back; harmless when called again."""


class Entry:
    """A registered tool with its compiled schemas."""

    __slots__ = ("definition", "is_coroutine", "output", "parameters", "tool")

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.is_coroutine = _is_coroutine(tool.execute)
        parameters = frozen_copy(tool.parameters)
        self.definition = ToolDefinition(tool.name, tool.description, parameters)
        self.parameters = Schema(parameters, what=f"tool {tool.name!r}: parameters")
        self.output = None if tool.output is None else Schema(frozen_copy(tool.output))


def _is_coroutine(body: object) -> bool:
    """Whether calling it makes a coroutine: a function, or an object with such a ``__call__``."""
    call = getattr(body, "__call__", None)  # noqa: B004 - the method itself is wanted
    return inspect.iscoroutinefunction(body) or inspect.iscoroutinefunction(call)


class Registry:
    """A layer of tools over a parent's.

    Promises:
     1. What is registered is whole: a faulty definition raises RegistrationError at once.
     2. A name is taken once a layer, unless ``replace`` is said; a child layer shadows its parent.
     3. Order is that of registration; a lookup is exact and never raises.
     4. A disposer removes its own entry only, never one that replaced it.
     5. ``restrict`` narrows what a layer inherits, never what it registered itself; a hidden tool
        reads as absent.
    """

    def __init__(self, tools: Iterable[object] = (), *, parent: Registry | None = None) -> None:
        self._own: dict[str, Entry] = {}
        self._parent = parent
        self._filters: list[Callable[[str], bool]] = []
        self._version = 0
        self._seen: tuple[dict[str, Entry], tuple[ToolDefinition, ...]] = ({}, ())
        self._seen_at = -1
        for candidate in tools:
            self.register(candidate)

    def register(self, candidate: object, *, replace: bool = False) -> Disposer:
        """Add a tool to this layer; returns what takes it out again."""
        entry = Entry(as_tool(candidate))
        name = entry.tool.name
        if name in self._own and not replace:
            raise RegistrationError(f"tool {name!r}: there is one of this name already")
        self._own[name] = entry
        self._version += 1

        def dispose() -> None:
            if self._own.get(name) is entry:
                del self._own[name]
                self._version += 1

        return dispose

    def unregister(self, name: str) -> None:
        """Take a tool out of this layer; a name that is not there is no fault."""
        if self._own.pop(name, None) is not None:
            self._version += 1

    def scope(self, tools: Iterable[object] = ()) -> Registry:
        """A layer over this one: what it registers or hides stays in it."""
        return Registry(tools, parent=self)

    def restrict(
        self, *, allow: Iterable[str] | None = None, deny: Iterable[str] | None = None
    ) -> Disposer:
        """Show only some inherited tools in this layer; several restrictions all hold."""
        if self._parent is None:
            raise RegistrationError("restrict: only a scope can restrict what it inherits")
        if allow is None and deny is None:
            raise RegistrationError("restrict: say which tools to allow or to deny")
        allowed = None if allow is None else frozenset(allow)
        denied = frozenset(deny or ())
        known = self._parent.entries()
        unknown = sorted(name for name in (allowed or frozenset()) | denied if name not in known)
        if unknown:
            raise RegistrationError(f"restrict: no tool is named {', '.join(unknown)}")

        def visible(name: str) -> bool:
            return name not in denied and (allowed is None or name in allowed)

        self._filters.append(visible)
        self._version += 1

        def dispose() -> None:
            if visible in self._filters:
                self._filters.remove(visible)
                self._version += 1

        return dispose

    def get(self, name: str) -> Tool | None:
        """The tool that is visible here under a name, or None."""
        entry = self.entry(name)
        return None if entry is None else entry.tool

    def entry(self, name: str) -> Entry | None:
        """The tool with its compiled schemas, or None."""
        return self._view()[0].get(name)

    def entries(self) -> dict[str, Entry]:
        """All that is visible here; do not change it."""
        return self._view()[0]

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What the model may know, in the order of registration."""
        return self._view()[1]

    def names(self) -> tuple[str, ...]:
        """The visible names."""
        return tuple(self.entries())

    def nearest(self, name: str) -> str | None:
        """The visible name that a wrong one most likely meant."""
        found = difflib.get_close_matches(name[:64], self.names(), n=1)
        return found[0] if found else None

    def __iter__(self) -> Iterator[Tool]:
        return (entry.tool for entry in self.entries().values())

    def __len__(self) -> int:
        return len(self.entries())

    def __contains__(self, name: object) -> bool:
        return name in self.entries()

    def version(self) -> int:
        """Grows whenever something visible here may have changed."""
        return self._version if self._parent is None else self._version + self._parent.version()

    def _view(self) -> tuple[dict[str, Entry], tuple[ToolDefinition, ...]]:
        version = self.version()
        if self._seen_at != version:
            inherited = {} if self._parent is None else self._parent.entries()
            found = {
                name: entry
                for name, entry in inherited.items()
                if all(visible(name) for visible in self._filters)
            }
            found.update(self._own)
            definitions = tuple(entry.definition for entry in found.values())
            self._seen, self._seen_at = (found, definitions), version
        return self._seen
