"""Whether a record's fields have the types of the schema: checked wherever a log is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from harness.record.shapes import HEAD, MORE, NUMBER_MOST, Shape, name_of, named, shapes_of

__all__ = ["form_fault", "shape_fault"]

Check: TypeAlias = Callable[[Any], bool]

_SHAPES: dict[str, dict[str, Shape]] = {}
_QUICK: dict[str, dict[str, Shape]] = {}
"""The fields of each type whose type is all there is to check, or nearly."""

_CHECKS: dict[str, dict[str, Check]] = {}
_UNKNOWN: dict[str, Shape] = {**HEAD, **MORE}
"""What a record of a type that is not known here has in any case."""


def form_fault(record: dict[str, Any]) -> str | None:
    """The first field with another type than the schema gives it, or None.

    Every record that is read comes through here: first a quick look, then the words for a fault.
    """
    if not _SHAPES:
        _fill()
    kind = record.get("type")
    if type(kind) is not str:
        return _sentence("type", kind, str)
    quick = _QUICK.get(kind, _QUICK[""]).get
    for key, value in record.items():
        wanted = quick(key)
        if type(value) is not wanted:
            check = _CHECKS.get(kind, _CHECKS[""]).get(key)
            if check is not None and not check(value):
                return _explained(record, kind)
        elif wanted is float and not -NUMBER_MOST <= value <= NUMBER_MOST:
            return _explained(record, kind)
    return None


def _explained(record: dict[str, Any], kind: str) -> str | None:
    shapes = _SHAPES.get(kind, _UNKNOWN)
    found = (shape_fault(value, shapes.get(key, object), key) for key, value in record.items())
    return next((fault for fault in found if fault is not None), None)


def _check_of(shape: Shape) -> Check:
    """The quick look at one field."""
    if isinstance(shape, tuple):
        checks = [_check_of(one) for one in shape]
        return lambda value: any(check(value) for check in checks)
    if isinstance(shape, list):
        inner = _check_of(shape[0])
        return lambda value: type(value) is list and all(map(inner, value))
    if isinstance(shape, dict):
        return _check_of_members(shape)
    if shape is int or shape is float:
        return lambda value: _number(value, shape, "") is None
    return lambda value: type(value) is shape


def _check_of_members(shapes: dict[str, Shape]) -> Check:
    plain = {key: shape for key, shape in shapes.items() if shape is str or shape is bool}
    quick = plain.get
    slow = {key: _check_of(shape) for key, shape in shapes.items()}.get

    def check(value: object) -> bool:
        if type(value) is not dict:
            return False
        for key, held in value.items():
            if held is not None and type(held) is not quick(key):
                inner = slow(key)
                if inner is not None and not inner(held):
                    return False
        return True

    return check


def shape_fault(value: object, shape: Shape, name: str) -> str | None:
    """What is wrong with a value, or None."""
    if shape is object:
        return None
    if shape is float or shape is int:
        return _number(value, shape, name)
    if isinstance(shape, dict):
        return _members(value, shape, name)
    if isinstance(shape, list):
        return _items(value, shape, name)
    if isinstance(shape, tuple):
        faults = [shape_fault(value, one, name) for one in shape]
        if None in faults:
            return None
        inner = [one for one in faults if one and not one.startswith(f"field {name} is ")]
        return inner[0] if inner else _sentence(name, value, shape)
    return None if type(value) is shape else _sentence(name, value, shape)


def _number(value: object, shape: Shape, name: str) -> str | None:
    if type(value) is not int and (shape is int or type(value) is not float):
        return _sentence(name, value, shape)
    if -NUMBER_MOST <= value <= NUMBER_MOST:
        return None
    return f"field {name} is out of range"


def _members(value: object, shape: dict[str, Shape], name: str) -> str | None:
    if type(value) is not dict:
        return _sentence(name, value, shape)
    for key, inner in shape.items():
        held = value.get(key)
        if held is not None and type(held) is not inner:
            found = shape_fault(held, inner, f"{name}.{key}")
            if found is not None:
                return found
        elif type(held) is int:
            found = _number(held, int, f"{name}.{key}")
            if found is not None:
                return found
    return None


def _items(value: object, shape: list[Shape], name: str) -> str | None:
    if type(value) is not list:
        return _sentence(name, value, shape)
    for number, item in enumerate(value):
        found = shape_fault(item, shape[0], f"{name}[{number}]")
        if found is not None:
            return found
    return None


def _sentence(name: str, value: object, shape: Shape) -> str:
    return f"field {name} is {name_of(value)}, not {named(shape)}"


def _fill() -> None:
    """Looked up at the first record: who reads no log need not wait for it."""
    for kind, shapes in {"": _UNKNOWN, **shapes_of()}.items():
        plain = {
            key: shape
            for key, shape in shapes.items()
            if type(shape) is type and shape in {str, bool, float}
        }
        _QUICK[kind] = {**plain, "seq": int, "step": int}
        _CHECKS[kind] = {
            key: _check_of(shape) for key, shape in shapes.items() if shape is not object
        }
        _SHAPES[kind] = shapes
