"""The event union as JSON Schema, made from the payload classes themselves."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from harness.event import Payload
from harness.record import SCHEMA, TYPES
from harness.record.shapes import INSIDE, Shape

__all__ = ["event_schema"]

_HEAD: dict[str, Any] = {
    "seq": {"type": "integer", "minimum": 0},
    "run": {"type": "string"},
    "at": {"type": "string", "format": "date-time"},
    "t": {"type": "number"},
    "hash": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
}
_MORE: dict[str, Any] = {
    "schema": {"const": SCHEMA},
    "step": {"type": "integer", "minimum": 1},
    "call": {"type": "string"},
}
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}


def event_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of one record of a log."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A record of a stockade log, schema {SCHEMA}",
        "oneOf": [*(_record(payload) for payload in get_args(Payload)), _withheld()],
    }


def _withheld() -> dict[str, Any]:
    """A record of any type whose redaction failed: nothing of its own was written."""
    return {
        "title": "withheld",
        "description": "A record whose redaction failed; `withheld` says how.",
        "type": "object",
        "properties": {
            "type": {"enum": sorted(TYPES)},
            **_HEAD,
            "schema": {"const": SCHEMA},
            "withheld": {"type": "string"},
        },
        "required": ["type", *_HEAD, "withheld"],
        "additionalProperties": False,
    }


def _record(payload: Any) -> dict[str, Any]:  # noqa: ANN401 - a class of the union
    hints = get_type_hints(payload)
    kind = payload.type.fget(None)
    properties = {"type": {"const": kind}, **_HEAD, **_MORE}
    required = ["type", *_HEAD]
    spread = False
    for name in payload._fields:
        if name == "facts":
            spread = True
            continue
        inside = INSIDE.get(kind, {}).get(name)
        properties[name] = _of(hints[name]) if inside is None else _shape(inside)
        if name not in payload._field_defaults:
            required.append(name)
    if spread:
        facts = {name: INSIDE[kind][name] for name in INSIDE.get(kind, {})}
        properties |= {name: _null(shape) for name, shape in facts.items() if name not in required}
        properties["withheld"] = False
    return {
        "title": kind,
        "description": " ".join((payload.__doc__ or "").split("\n\n")[0].split()),
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": spread,
    }


def _shape(shape: Shape) -> dict[str, Any]:
    """The schema of what is inside a field."""
    if isinstance(shape, tuple):
        return {"anyOf": [_shape(one) for one in shape]}
    if isinstance(shape, list):
        return {"type": "array", "items": _shape(shape[0])}
    if not isinstance(shape, dict):
        return {} if shape is object else {"type": _PLAIN[shape]}
    if not shape:
        return {"type": "object"}
    return {"type": "object", "properties": {key: _null(one) for key, one in shape.items()}}


def _null(shape: Shape) -> dict[str, Any]:
    """The same, or null."""
    made = _shape(shape)
    return (
        {**made, "type": [made["type"], "null"]}
        if "type" in made
        else {"anyOf": [*made["anyOf"], {"type": "null"}]}
    )


def _of(hint: Any) -> dict[str, Any]:  # noqa: ANN401 - a type
    """The schema of a field; what is None is absent from a record, so None needs none."""
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(hint, UnionType):
        kinds = [_of(one) for one in arguments if one is not NoneType]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if origin is tuple:
        return {"type": "array", "items": _of(arguments[0])}
    if origin is Mapping:
        return {"type": "object"}
    return {}
