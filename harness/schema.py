"""The documented subset of JSON Schema that tools declare their arguments and values in.

One ``type`` of object, array, string, number, integer, boolean, null; ``properties``, ``required``,
boolean ``additionalProperties``; ``items``, ``minItems``, ``maxItems``; ``enum``, ``const``;
``minLength``, ``maxLength``, ``pattern`` (searched, not anchored); ``minimum``, ``maximum``,
``exclusiveMinimum``, ``exclusiveMaximum``; ``oneOf`` with two or more branches; and the
annotations ``title``, ``description``, ``default``, ``examples``. Anything else is refused when the
schema is compiled, so that no keyword is ever silently ignored. An empty schema admits all.
An integer is written without a fraction: 1.0 is none. Undeclared keys pass unless
``additionalProperties`` is false; defaults are not filled in.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from harness.errors import RegistrationError

__all__ = ["Schema", "child_path"]

_ANNOTATIONS = frozenset({"title", "description", "default", "examples"})
_ANYWHERE = _ANNOTATIONS | {"type", "enum", "const", "oneOf"}
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_BY_TYPE: dict[str, frozenset[str]] = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "string": frozenset({"minLength", "maxLength", "pattern"}),
    "number": _BOUNDS,
    "integer": _BOUNDS,
    "boolean": frozenset(),
    "null": frozenset(),
}
_COUNTS = frozenset({"minItems", "maxItems", "minLength", "maxLength"})
_CHECKED = ("enum", "const", *sorted(_BOUNDS), *sorted(_COUNTS), "pattern")
_NAMES = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "a boolean",
    "null": "null",
}
_PLAIN: dict[str | None, type] = {"string": str, "integer": int, "boolean": bool}
_NO_LEAF: tuple[None, tuple[()]] = (None, ())
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_DEPTH = 64  # of a schema; its own author writes it, so this is a mistake, not an attack


def child_path(path: str, key: str | int) -> str:
    """The place below ``path``: ``$.key``, ``$[0]``, or ``$["odd key"]``."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if _IDENTIFIER.fullmatch(key) else f"{path}[{json.dumps(key)}]"


class Schema:
    """A compiled schema.

    Promises:
     1. It is checked whole when it is made: RegistrationError lists every fault.
     2. ``violations`` lists all that is wrong with a value, each with its place, in order.
     3. The value's depth cannot exhaust the stack: the walk keeps its own.
    """

    __slots__ = ("_root", "source")

    def __init__(self, source: Mapping[str, Any], *, what: str = "schema") -> None:
        faults = list(_faults(source, "$", 0))
        if faults:
            raise RegistrationError(f"{what}: " + "; ".join(faults))
        self.source = source
        self._root = _Node(source)

    def violations(self, value: object, path: str = "$") -> list[str]:
        """Everything that is wrong with a value; empty when it fits."""
        found: list[str] = []
        if self._root.plainly_fits(value):
            return found
        stack: list[tuple[_Node, object, str]] = [(self._root, value, path)]
        while stack:
            node, item, place = stack.pop()
            fault = node.own_fault(item, place)
            if fault is not None:
                found.append(fault)
                continue
            if node.branches:
                found.extend(node.branch_fault(item, place))
            if type(item) is dict and node.is_object:
                stack.extend(reversed(node.object_parts(item, place, found)))
            elif type(item) is list and node.items is not None:
                items = node.items
                parts = [(items, part, f"{place}[{i}]") for i, part in enumerate(item)]
                stack.extend(reversed(parts))
        return found


class _Node:
    """One place of a schema, ready for checking."""

    __slots__ = (
        "branches",
        "checks",
        "is_object",
        "items",
        "kind",
        "leaves",
        "open",
        "properties",
        "required",
    )

    def __init__(self, source: Mapping[str, Any]) -> None:
        self.kind: str | None = source.get("type")
        self.is_object = self.kind == "object"
        self.properties = {k: _Node(v) for k, v in source.get("properties", {}).items()}
        self.required: tuple[str, ...] = tuple(source.get("required", ()))
        self.open: bool = source.get("additionalProperties", True)
        self.items = _Node(source["items"]) if "items" in source else None
        self.branches = [Schema(branch) for branch in source.get("oneOf", ())]
        self.checks = [(name, source[name]) for name in _CHECKED if name in source]
        self.leaves = {
            key: (_PLAIN[node.kind], node.checks)
            for key, node in self.properties.items()
            if node.kind in _PLAIN and not node.branches
        }

    def plainly_fits(self, value: object) -> bool:
        """Whether an object of declared scalars fits at first sight.

        That is what most arguments are; False only means to look closer.
        """
        if type(value) is not dict or not self.is_object or self.branches or self.checks:
            return False
        for key in self.required:
            if key not in value:
                return False
        leaves = self.leaves
        for key, item in value.items():
            kind, checks = leaves.get(key, _NO_LEAF)
            if kind is not type(item):
                return False
            for name, bound in checks:
                if _check(name, bound, item):
                    return False
        return True

    def own_fault(self, value: object, path: str) -> str | None:
        """What is wrong with the value itself, not with its parts."""
        if self.kind is not None and not _is(self.kind, value):
            return f"{path}: must be {_NAMES[self.kind]}, not {_describe(value)}"
        if type(value) is float and not math.isfinite(value):
            return f"{path}: must be a finite number"
        for name, bound in self.checks:
            fault = _check(name, bound, value)
            if fault:
                return f"{path}: {fault}"
        return None

    def branch_fault(self, value: object, path: str) -> Iterator[str]:
        """What is wrong when not exactly one branch admits the value."""
        tries = [branch.violations(value, path) for branch in self.branches]
        fitting = sum(not faults for faults in tries)
        if fitting > 1:
            yield f"{path}: fits {fitting} of the allowed forms, must fit exactly one"
        elif not fitting:
            closest = min(tries, key=len)
            yield f"{path}: fits none of the allowed forms; nearest: {'; '.join(closest)}"

    def object_parts(
        self, value: dict[str, object], path: str, found: list[str]
    ) -> list[tuple[_Node, object, str]]:
        """The parts of an object to look at next; adds missing and undeclared keys to ``found``."""
        missing = [key for key in self.required if key not in value]
        found.extend(f"{child_path(path, key)}: is required, but missing" for key in missing)
        parts: list[tuple[_Node, object, str]] = []
        for key, item in value.items():
            node = self.properties.get(key)
            if node is not None:
                parts.append((node, item, child_path(path, key)))
            elif not self.open:
                known = ", ".join(self.properties) or "none"
                found.append(f"{child_path(path, key)}: is not declared (known: {known})")
        return parts


def _is(kind: str, value: object) -> bool:
    """Whether a JSON value is of a type; true and false are no numbers."""
    actual = type(value)
    match kind:
        case "object":
            return actual is dict
        case "array":
            return actual is list
        case "string":
            return actual is str
        case "integer":
            return actual is int
        case "number":
            return actual is int or actual is float
        case "boolean":
            return actual is bool
    return value is None


def _describe(value: object) -> str:
    for name in ("boolean", "null", "integer", "number", "string", "array", "object"):
        if _is(name, value):
            return _NAMES[name]
    return f"a {type(value).__name__}"


def _check(name: str, bound: Any, value: Any) -> str | None:  # noqa: ANN401, C901 - any JSON value
    match name:
        case "enum":
            if not any(_same(value, choice) for choice in bound):
                return f"must be one of {', '.join(json.dumps(choice) for choice in bound)}"
        case "const":
            if not _same(value, bound):
                return f"must be {json.dumps(bound)}"
        case "minimum" if value < bound:
            return f"must be at least {bound}, not {value}"
        case "maximum" if value > bound:
            return f"must be at most {bound}, not {value}"
        case "exclusiveMinimum" if value <= bound:
            return f"must be more than {bound}, not {value}"
        case "exclusiveMaximum" if value >= bound:
            return f"must be less than {bound}, not {value}"
        case "minLength" if len(value) < bound:
            return f"must have at least {bound} characters, has {len(value)}"
        case "maxLength" if len(value) > bound:
            return f"must have at most {bound} characters, has {len(value)}"
        case "minItems" if len(value) < bound:
            return f"must have at least {bound} items, has {len(value)}"
        case "maxItems" if len(value) > bound:
            return f"must have at most {bound} items, has {len(value)}"
        case "pattern" if re.search(bound, value) is None:
            return f"must match {bound}"
    return None


def _same(left: object, right: object) -> bool:
    """Equality of JSON scalars: true is not 1, and 1 is 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return type(left) in (int, float, str, type(None)) and left == right


def _faults(source: object, path: str, depth: int) -> Iterator[str]:
    """What makes a schema one outside the subset."""
    if not isinstance(source, Mapping):
        yield f"{path}: a schema must be an object"
        return
    if depth > _DEPTH:
        yield f"{path}: nested deeper than {_DEPTH}"
        return
    kind = source.get("type")
    if kind is not None and (not isinstance(kind, str) or kind not in _BY_TYPE):
        yield f"{child_path(path, 'type')}: must be one of {', '.join(_BY_TYPE)}"
        return
    allowed = _ANYWHERE | (_BY_TYPE[kind] if kind else frozenset())
    for key, value in source.items():
        place = child_path(path, str(key))
        if key not in allowed:
            where = f" for type {kind}" if kind else " without a type"
            yield f"{place}: this keyword is not supported{where}"
        else:
            yield from _keyword_faults(source, key, value, place, depth)


def _keyword_faults(
    source: Mapping[str, Any], key: str, value: object, place: str, depth: int
) -> Iterator[str]:
    if key == "properties":
        if not isinstance(value, Mapping):
            yield f"{place}: must be an object of schemas"
            return
        for name, part in value.items():
            if isinstance(name, str):
                yield from _faults(part, child_path(place, name), depth + 1)
            else:
                yield f"{place}: a name must be a string"
    elif key == "items":
        yield from _faults(value, place, depth + 1)
    elif key == "oneOf":
        if not isinstance(value, list | tuple) or len(value) < 2:
            yield f"{place}: must be a list of two schemas or more"
            return
        for index, part in enumerate(value):
            yield from _faults(part, child_path(place, index), depth + 1)
    else:
        fault = _value_fault(source, key, value)
        if fault:
            yield f"{place}: {fault}"


def _value_fault(source: Mapping[str, Any], key: str, value: object) -> str | None:
    if key == "required":
        if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
            return "must be a list of names"
        undeclared = [name for name in value if name not in source.get("properties", {})]
        return f"names undeclared properties: {', '.join(undeclared)}" if undeclared else None
    if key == "additionalProperties":
        return None if isinstance(value, bool) else "must be true or false"
    if key == "enum":
        scalars = isinstance(value, list | tuple) and value and all(map(_scalar, value))
        return None if scalars else "must be a list of texts, numbers, booleans or null"
    if key == "const":
        return None if _scalar(value) else "must be a text, number, boolean or null"
    if key in _COUNTS:
        return None if type(value) is int and value >= 0 else "must be a whole number from 0"
    if key in _BOUNDS:
        finite = type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
        return None if finite else "must be a number"
    if key == "pattern":
        return _pattern_fault(value)
    return None


def _pattern_fault(value: object) -> str | None:
    if not isinstance(value, str):
        return "must be a regular expression"
    try:
        re.compile(value)
    except re.error as error:
        return f"is no regular expression: {error}"
    return None


def _scalar(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)
