"""What is inside the fields of a record: the keys that this program reads, and their types.

A shape is a type; ``object`` for anything; ``[shape]`` for a list of them; ``{key: shape}`` for an
object, whose other keys may hold anything and whose named keys may be null; a tuple for either of
several shapes. What is a fact of its record (and no field of its own) may be null, too. Numbers
are finite, and small enough to reckon with.
"""

from __future__ import annotations

from types import MappingProxyType, NoneType, UnionType
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

from harness.event import Payload

__all__ = ["HEAD", "MORE", "NUMBER_MOST", "Shape", "shapes_of"]

Shape: TypeAlias = Any

NUMBER_MOST = 1 << 53
"""What every reader of JSON keeps exactly; no count, time or price comes near it."""

HEAD: dict[str, Shape] = {"seq": int, "type": str, "run": str, "at": str, "t": float, "hash": str}
MORE: dict[str, Shape] = {"schema": int, "step": int, "call": str, "withheld": str}

_CALL = {"id": str, "name": str, "arguments": str}

_MESSAGE = {
    "role": str,
    "text": str,
    "call_id": str,
    "tool": str,
    "content": str,
    "is_error": bool,
    "calls": [_CALL],
}

_PROGRAM = {"ending": str, "code": int, "codes": [int]}

_SPENT = {
    "steps": int,
    "tool_calls": int,
    "input_tokens": int,
    "output_tokens": int,
    "cost": float,
}

INSIDE: dict[str, dict[str, Shape]] = {
    "run/start": {
        "task": str,
        "agent": str,
        "model": str,
        "instruction": str,
        "policy": (str, {"name": str, "source": str, "digest": str}),
        "budgets": {"steps": int, "tool_calls": int, "wall_seconds": float},
    },
    "model/request": {
        "added": [_MESSAGE],
        "tools": [{"name": str, "description": str, "parameters": {}}],
    },
    "model/reply": {
        "calls": [_CALL],
        "usage": {"input_tokens": int, "output_tokens": int, "cached_tokens": int, "cost": float},
        "reasoning": [{"text": str, "signature": str, "provider": str, "data": str}],
    },
    "tool/result": {
        "error": {"message": str, "type": str},
        "outcome": {"outcomes": [_PROGRAM], "problem": str},
    },
    "verify/end": {
        "verdict": str,
        "reason": str,
        "findings": [{"path": str, "reason": str, "left_out": bool}],
        "missing": [str],
    },
    "run/end": {"verdict": str, "exit_code": int, "error": str, "spent": _SPENT},
}
"""By type and field, for fields that hold more than one plain value, or that are facts."""


def shapes_of() -> dict[str, dict[str, Shape]]:
    """By record type the shape of every field that has one."""
    found: dict[str, dict[str, Shape]] = {}
    for payload in get_args(Payload):
        kind = payload.type.fget(None)
        hints = get_type_hints(payload)
        own = {name: _of(hints[name]) for name in payload._fields if name != "facts"}
        inside = INSIDE.get(kind, {})
        facts = {key: (shape, NoneType) for key, shape in inside.items() if key not in own}
        found[kind] = {**own, **inside, **facts, **HEAD, **MORE}
    return found


def _of(hint: Any) -> Shape:  # noqa: ANN401 - a type
    """The shape of a field; what is None is absent from a record."""
    if isinstance(hint, UnionType):
        kinds = tuple(_of(one) for one in get_args(hint) if one is not NoneType)
        return kinds[0] if len(kinds) == 1 else kinds
    if hint in {str, int, float, bool}:
        return hint
    origin = get_origin(hint)
    if origin is tuple:
        return [_of(get_args(hint)[0])]
    return object if origin is None else {}


_NAMES = MappingProxyType(
    {
        str: "a text",
        int: "an integer",
        float: "a number",
        bool: "a boolean",
        NoneType: "null",
    }
)


def named(shape: Shape) -> str:
    """A shape in words."""
    if isinstance(shape, tuple):
        return " or ".join(map(named, shape))
    if isinstance(shape, list):
        return "a list"
    return "an object" if isinstance(shape, dict) else _NAMES.get(shape, "any value")


def name_of(value: object) -> str:
    """The type of a JSON value in words."""
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, dict) else _NAMES.get(type(value), "another value")
