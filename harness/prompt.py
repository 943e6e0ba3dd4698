"""The system message, assembled from ordered sections."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from harness.errors import RegistrationError
from harness.model import ToolDefinition
from harness.registry import Registry

__all__ = [
    "AssembleHook",
    "Assembly",
    "Prompt",
    "PromptError",
    "persona",
    "time_section",
    "tool_guidance",
    "workspace_section",
]


class PromptError(RegistrationError):
    """A section that cannot be rendered: an unknown, valueless or malformed variable."""


Text: TypeAlias = str | Callable[[], str | Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Assembly:
    """The prompt with the tools that go with it."""

    text: str
    tools: tuple[ToolDefinition, ...] = ()


AssembleHook: TypeAlias = Callable[[Assembly, Callable[[Assembly], Assembly]], Assembly]
"""Reworks an assembly: gets it with ``call_next``, which runs the hooks inside."""


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    order: float
    text: Text


_REFERENCE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_NAME = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*", re.ASCII)


class Prompt:
    """Sections by number, variables by name.

    Promises:
     1. Sections come in ascending order, equal ones in that of their registration; empty ones are
        left out; a blank line stands between them.
     2. ``{{name}}`` is replaced once; a value is not scanned again; what is unknown, has no value
        or is malformed raises PromptError and names the section.
     3. Every registration can be taken back.
    """

    def __init__(self) -> None:
        self._sections: list[_Section] = []
        self._variables: dict[str, Text] = {}
        self._hooks: list[AssembleHook] = []

    def section(self, name: str, text: Text, *, order: float = 0) -> Callable[[], None]:
        """Add a section; its text may be a function that is asked at each assembly."""
        if not math.isfinite(order):
            raise RegistrationError(f"section {name!r}: the order must be a finite number")
        if any(section.name == name for section in self._sections):
            raise RegistrationError(f"section {name!r}: there is one of this name already")
        section = _Section(name, order, text)
        self._sections.append(section)

        def dispose() -> None:
            if section in self._sections:
                self._sections.remove(section)

        return dispose

    def variable(self, name: str, value: Text) -> Callable[[], None]:
        """Give a variable its value; it may be a function that is asked at each assembly."""
        if not _NAME.fullmatch(name):
            raise RegistrationError(f"variable {name!r}: is no valid name")
        if name in self._variables:
            raise RegistrationError(f"variable {name!r}: there is one of this name already")
        self._variables[name] = value

        def dispose() -> None:
            if self._variables.get(name) is value:
                del self._variables[name]

        return dispose

    def hook(self, hook: AssembleHook) -> Callable[[], None]:
        """Rework every assembly: the text, and the list of tools."""
        self._hooks.append(hook)

        def dispose() -> None:
            if hook in self._hooks:
                self._hooks.remove(hook)

        return dispose

    async def render(self) -> str:
        """The sections alone, with their variables replaced."""
        parts: list[str] = []
        for section in sorted(self._sections, key=lambda section: section.order):
            text = (await self._interpolated(section)).strip("\n")
            if text.strip():
                parts.append(text)
        return "\n\n".join(parts)

    async def assembly(self, registry: Registry | None = None) -> Assembly:
        """The prompt and the tools, after all hooks; without a registry there are no tools."""
        tools = () if registry is None else registry.definitions()
        return self.rework(Assembly(await self.render(), tools))

    async def assemble(self, registry: Registry | None = None) -> str:
        """The text of the system message."""
        return (await self.assembly(registry)).text

    def tools(self, definitions: tuple[ToolDefinition, ...]) -> tuple[ToolDefinition, ...]:
        """The tools of a request, after all hooks."""
        return self.rework(Assembly("", definitions)).tools if self._hooks else definitions

    def rework(self, assembly: Assembly) -> Assembly:
        """Run the hooks, the first registered outermost."""
        hooks = tuple(self._hooks)

        def enter(index: int, inner: Assembly) -> Assembly:
            if index == len(hooks):
                return inner
            return hooks[index](inner, lambda given: enter(index + 1, given))

        return enter(0, assembly)

    async def _interpolated(self, section: _Section) -> str:
        text = await _value(section.text)
        made, end = "", 0
        for found in _REFERENCE.finditer(text):
            name = _NAME.fullmatch(found[1])
            if name is None:
                raise PromptError(f"section {section.name!r}: {found[0]!r} is no variable")
            if name[1] not in self._variables:
                raise PromptError(f"section {section.name!r}: there is no variable {name[1]!r}")
            value: object = await _value(self._variables[name[1]])
            if not isinstance(value, str):
                raise PromptError(f"section {section.name!r}: {name[1]!r} has no value")
            made += text[end : found.start()] + value
            end = found.end()
        rest = text[end:]
        if "{{" in rest:
            raise PromptError(f"section {section.name!r}: a '{{{{' is not closed")
        return made + rest


async def _value(text: Text) -> str:
    value = text() if callable(text) else text
    return await value if inspect.isawaitable(value) else value


def persona(prompt: Prompt, text: str) -> Callable[[], None]:
    """Who the model is to be; a section like any other."""
    return prompt.section("persona", text, order=0)


def time_section(
    prompt: Prompt, now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Callable[[], None]:
    """What day it is, in UTC."""
    return prompt.section("time", lambda: f"Today is {now():%Y-%m-%d} (UTC).", order=50)


def workspace_section(prompt: Prompt, path: str) -> Callable[[], None]:
    """Where the model works, as the box sees it."""
    text = (
        f"You work in the folder {path}. Give paths relative to it; nothing outside of it can be "
        "read or written. Programs run without a shell, under a policy; a denial says which word "
        "is at fault."
    )
    return prompt.section("workspace", text, order=60)


def tool_guidance(prompt: Prompt, registry: Registry) -> Callable[[], None]:
    """Which tools there are, at each assembly anew."""

    def text() -> str:
        names = registry.names()
        return f"Tools: {', '.join(names)}." if names else ""

    return prompt.section("tools", text, order=100)
