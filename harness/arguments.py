"""From whatever a model or a provider hands over to a ToolCall, and from its raw text to an object.

Everything here counts as untrusted: what cannot be read is said, never guessed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from harness.message import ToolCall

__all__ = ["ArgumentsError", "CallFormError", "decode_arguments", "parse_call", "parse_calls"]


class ArgumentsError(ValueError):
    """The arguments of a call are no JSON object; the message is meant for the model."""


class CallFormError(ValueError):
    """A source that holds no tool call in any known form."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key is there twice")
    return made


_decoder = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_unique)


def decode_arguments(text: str) -> dict[str, Any]:
    """The arguments as an object; empty text is an empty object."""
    if not text.strip():
        return {}
    try:
        value = _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise ArgumentsError(f"$: not valid JSON: {error.msg} at character {error.pos}") from error
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ArgumentsError(f"$: not valid JSON: {why}") from error
    if not isinstance(value, dict):
        raise ArgumentsError("$: must be an object")
    return value


def parse_call(source: object, *, index: int = 0) -> ToolCall:
    """A ToolCall from a ToolCall, an SDK's object, a mapping, or the JSON text of one.

    A source without an id gets one from ``index``.
    """
    if isinstance(source, ToolCall):
        return source
    if isinstance(source, str | bytes):
        try:
            source = json.loads(source)
        except (ValueError, RecursionError) as error:
            raise CallFormError(f"a tool call that is not JSON: {error}") from error
    function = _get(source, "function")
    inner = source if function is None else function
    name = _get(inner, "name") or _get(inner, "tool")
    if not isinstance(name, str) or not name:
        raise CallFormError("a tool call that names no tool")
    given = next(
        (v for key in ("arguments", "input", "args") if (v := _get(inner, key)) is not None), ""
    )
    arguments = given if isinstance(given, str) else json.dumps(_plain(given))
    identity = _get(source, "id") or _get(source, "call_id")
    return ToolCall(str(identity) if identity else f"call-{index + 1}", name, arguments)


def parse_calls(envelope: object) -> tuple[ToolCall, ...]:
    """The calls of a provider's whole response, in order; () when it has none."""
    message = envelope
    choices = _get(envelope, "choices")
    if isinstance(choices, list | tuple):
        if not choices:
            raise CallFormError("a response without choices")
        message = _get(choices[0], "message")
    calls = _get(message, "tool_calls")
    if calls is None:
        content = _get(message, "content")
        blocks = content if isinstance(content, list | tuple) else ()
        calls = [block for block in blocks if _get(block, "type") == "tool_use"]
    if not isinstance(calls, list | tuple):
        raise CallFormError("tool calls that are no list")
    return tuple(parse_call(call, index=index) for index, call in enumerate(calls))


def _get(source: object, name: str) -> Any:  # noqa: ANN401 - whatever a provider sent
    if isinstance(source, Mapping):
        return source.get(name)
    return getattr(source, name, None)


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else value
