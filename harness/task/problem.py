"""From pydantic's findings to problems that name the key and the fix."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from harness.task.error import Problem

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["nul_problems", "problems_of", "unknown_keys"]

FIXES = {
    "missing": "add it",
    "string_type": "write a text in quotes",
    "bool_type": "write true or false",
    "int_type": "write a whole number",
    "int_from_float": "write a whole number",
    "float_type": "write a number",
    "list_type": "write a list in square brackets",
    "dict_type": "write a table",
    "model_type": "write a table",
    "float_parsing": "write a number",
    "greater_than": "write a larger number",
    "greater_than_equal": "write a larger number",
    "less_than_equal": "write a smaller number",
    "finite_number": "write a finite number",
    "string_too_short": "write something",
    "too_short": "write at least one",
    "extra_forbidden": "remove it",
}

PATTERNS = {
    "environment.tpu.topology": 'write it as "2x2"',
    "task.name": 'write "organisation/name"',
    "environment.workdir": "write an absolute path in the box",
    "metadata.stockade.verify.tests": 'write "path/test_file.py::test_name"',
}

LONGEST = 200
"""Characters that are shown of a value that cannot stand."""

UNIONS = frozenset({"bool", "str", "int", "float", "dict[str,float]", "list[constrained-str]"})
"""Names that pydantic adds to the place of a fault for each branch of a union."""


def problems_of(error: ValidationError, file: str) -> list[Problem]:
    """Every finding as a problem, one for each key."""
    found: dict[str, Problem] = {}
    for detail in error.errors(include_url=False, include_context=True):
        key = dotted((*detail["loc"], *below(detail)))
        found.setdefault(key, Problem(file, key, sentence(detail), fix(detail, key)))
    return list(found.values())


def nul_problems(data: Any, file: str) -> list[Problem]:  # noqa: ANN401 - what a file holds
    """Texts with a NUL in them, which neither a path nor a variable nor a command can hold."""
    found: list[Problem] = []
    seen: set[int] = set()  # an alias of YAML may stand anywhere, below itself too
    waiting: list[tuple[tuple[int | str, ...], Any]] = [((), data)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str) and "\0" in value:
            found.append(Problem(file, dotted(place), "holds a NUL character", "remove it"))
        if not isinstance(value, dict | list) or id(value) in seen:
            continue
        seen.add(id(value))
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, below in pairs:
            name = key if isinstance(key, int) else str(key)
            if isinstance(name, str) and "\0" in name:
                shown = dotted((*place, name.replace("\0", "\\0")))
                found.append(Problem(file, shown, "holds a NUL character", "remove it"))
            waiting.append(((*place, name), below))
    return found


def dotted(place: tuple[int | str, ...]) -> str:
    """``environment.cpus`` or ``steps[0].name``."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not branch(part):
            text += f".{part}" if text else part
    return text


def below(detail: ErrorDetails) -> tuple[str, ...]:
    """The key within a table that a finding about the whole table is about."""
    key = (detail.get("ctx") or {}).get("key", "") if detail["type"] == "fault" else ""
    return (key,) if key else ()


def branch(part: str) -> bool:
    """Whether a part of a place is the name of a union's branch, not a key."""
    return part in UNIONS or "[" in part


def sentence(detail: ErrorDetails) -> str:
    """What is wrong, in a few words."""
    kind, given = detail["type"], detail["input"]
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return "is not a key that is known here"
    message = detail["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    if isinstance(given, dict | list | BaseModel):
        return message
    shown = repr(given)
    return f"{message}, not {shown if len(shown) <= LONGEST else shown[:LONGEST] + '...'}"


def fix(detail: ErrorDetails, key: str) -> str:
    """What to write instead."""
    if detail["type"] == "fault":
        return str(detail["ctx"]["fix"])
    if detail["type"] == "literal_error":
        return f"write one of {detail['ctx']['expected']}"
    if detail["type"] == "string_pattern_mismatch":
        return PATTERNS.get(key.partition("[")[0], "write it in the form that the schema asks for")
    return FIXES.get(detail["type"], "correct it")


def unknown_keys(model: BaseModel, prefix: str = "") -> Iterator[str]:
    """A sentence for each key that the schema does not know, with the nearest known one."""
    for key in model.model_extra or {}:
        if prefix == "metadata.":
            continue  # free-form by Harbor's own schema
        near = difflib.get_close_matches(key, type(model).model_fields, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        yield f"task.toml: {prefix}{key}: unknown key, ignored{hint}"
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from unknown_keys(value, f"{prefix}{name}.")
