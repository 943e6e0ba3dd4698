"""A model that answers from a script: for tests, demos and replay. Strict: no reply is invented."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, ScriptError, ScriptExhaustedError
from harness.message import ToolCall
from harness.model import ModelRequest, Reply, Usage
from policies import read_regular

__all__ = ["ScriptedModel", "read_script"]

LARGEST = 64 << 20
"""Bytes of a script; one that was made from a long run has what that run was answered."""

_USAGE = ("input_tokens", "output_tokens", "cached_tokens", "cost")


class ScriptedModel:
    """Gives prepared replies in order.

    Promises:
     1. One reply for one request; one request too many raises ScriptExhaustedError.
     2. ``assert_consumed`` raises when replies are left.
     3. Everything it was asked is kept in ``requests``, if ``keep`` is set.
    """

    def __init__(
        self, replies: Sequence[Reply], *, name: str = "scripted", keep: bool = False
    ) -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self._replies = tuple(replies)
        self._next = 0
        self._keep = keep

    @classmethod
    def load(cls, path: str | Path, *, keep: bool = False) -> ScriptedModel:
        """The model of a script file (JSON, or TOML where the name ends in .toml)."""
        source = Path(path)
        return cls(read_script(source), name=f"scripted:{source.name}", keep=keep)

    @property
    def left(self) -> int:
        """How many replies were not asked for."""
        return len(self._replies) - self._next

    def skip(self, count: int) -> None:
        """Pass over replies that a run had before it was interrupted."""
        self._next += count

    async def generate(self, request: ModelRequest, /) -> Reply:
        """The next reply of the script."""
        if self._keep:
            self.requests.append(request)
        if self._next >= len(self._replies):
            raise ScriptExhaustedError(
                f"{self.name}: the script has {len(self._replies)} replies "
                "and was asked for one more; end it with a reply that calls finish, or nothing"
            )
        reply = self._replies[self._next]
        self._next += 1
        return reply

    def assert_consumed(self) -> None:
        """Raise HarnessError when the run ended before the script did."""
        if self.left:
            raise HarnessError(
                f"{self.name}: {self.left} of {len(self._replies)} replies were not asked for"
            )


def read_script(path: Path) -> tuple[Reply, ...]:
    """The replies of a script file; ScriptError says what is wrong and where."""
    try:
        text = read_regular(path, LARGEST).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScriptError(
            f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    try:
        data = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ScriptError(f"{path}: {error}") from error
    return _replies(data, str(path))


def _replies(data: object, where: str) -> tuple[Reply, ...]:
    top = _table(data, where, "$", {"schema", "replies"})
    if top.get("schema") != 1 or isinstance(top["schema"], bool):
        raise ScriptError(f"{where}: $.schema: must be 1")
    replies = top.get("replies")
    if not isinstance(replies, list):
        raise ScriptError(f"{where}: $.replies: must be a list of replies")
    return tuple(_reply(item, where, index) for index, item in enumerate(replies))


def _reply(data: object, where: str, index: int) -> Reply:
    at = f"$.replies[{index}]"
    table = _table(data, where, at, {"text", "calls", "usage"})
    text = table.get("text", "")
    if not isinstance(text, str):
        raise ScriptError(f"{where}: {at}.text: must be a text")
    calls = table.get("calls", [])
    if not isinstance(calls, list):
        raise ScriptError(f"{where}: {at}.calls: must be a list of calls")
    made = tuple(_call(call, where, at, index, number) for number, call in enumerate(calls))
    return Reply(text, made, _usage(table.get("usage"), where, at))


def _call(data: object, where: str, parent: str, index: int, number: int) -> ToolCall:
    at = f"{parent}.calls[{number}]"
    table = _table(data, where, at, {"id", "name", "arguments"})
    name = table.get("name")
    if not isinstance(name, str) or not name:
        raise ScriptError(f"{where}: {at}.name: must be the name of a tool")
    identity = table.get("id", f"call-{index + 1}-{number + 1}")
    if not isinstance(identity, str) or not identity:
        raise ScriptError(f"{where}: {at}.id: must be a text")
    arguments = table.get("arguments", {})
    if isinstance(arguments, str):
        return ToolCall(identity, name, arguments)  # raw text, to script what is not JSON
    try:
        return ToolCall(identity, name, json.dumps(arguments, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ScriptError(f"{where}: {at}.arguments: {error}") from error


def _usage(data: object, where: str, at: str) -> Usage | None:
    if data is None:
        return None
    table = _table(data, where, f"{at}.usage", set(_USAGE))
    for key, value in table.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ScriptError(f"{where}: {at}.usage.{key}: must be a number")
    return Usage(**table)


def _table(data: object, where: str, at: str, known: set[str]) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise ScriptError(f"{where}: {at}: must be a table of {', '.join(sorted(known))}")
    for key in data:
        if key not in known:
            raise ScriptError(
                f"{where}: {at}: unknown key {key!r}; known: {', '.join(sorted(known))}"
            )
    return data
