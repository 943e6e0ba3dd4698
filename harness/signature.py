"""Tools from type hints and from pydantic models (decision 24)."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.errors import PydanticUserError

from harness.errors import RegistrationError
from harness.schema import child_path
from harness.tool import Execution, Tool

__all__ = ["inlined", "model_rules", "model_schema", "tool_of"]


def tool_of(
    function: Callable[..., Any],
    settings: Mapping[str, Any],
    around: Mapping[str, Any] | None = None,
) -> Tool:
    """The Tool of a function; ``settings`` override what its signature says.

    ``around`` holds the names of the place where it is defined, for hints given as text.
    """
    name = str(settings.get("name") or getattr(function, "__name__", ""))
    hints = _hints(function, name, around)
    given: Any = settings.get("parameters")
    if isinstance(given, type) and issubclass(given, BaseModel):
        return _of_model(function, name, given, hints, settings)
    if given is not None:
        return Tool(**_fields(function, name, given, _plain_body(function, hints), settings))
    model = _signature_model(function, name, hints)
    made = _fields(
        function, name, model_schema(model, name), _model_body(function, hints), settings
    )
    made.setdefault("rules", model_rules(model))
    made.setdefault("parse", _parse(model))
    return Tool(**made)


def model_schema(model: type[BaseModel], what: str) -> dict[str, Any]:
    """The parameters of a pydantic model, inlined into the documented subset."""
    schema = model.model_json_schema()
    return inlined(schema, what)


def model_rules(model: type[BaseModel]) -> Callable[[dict[str, Any]], Iterator[str]]:
    """All that a model finds wrong, in the form of the schema's own violations."""

    def rules(arguments: dict[str, Any]) -> Iterator[str]:
        try:
            model.model_validate_json(json.dumps(arguments), strict=True)
        except ValidationError as error:
            for fault in error.errors(include_url=False, include_input=False):
                place = "$"
                for part in fault["loc"]:
                    place = child_path(place, part)
                yield f"{place}: {fault['msg']}"

    return rules


def _parse(model: type[BaseModel]) -> Callable[[dict[str, Any]], BaseModel]:
    def parse(arguments: dict[str, Any]) -> BaseModel:
        return model.model_validate_json(json.dumps(arguments), strict=True)

    return parse


def _of_model(
    function: Callable[..., Any],
    name: str,
    model: type[BaseModel],
    hints: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> Tool:
    """A function that takes one pydantic object."""
    body = _plain_body(function, hints)
    made = _fields(function, name, model_schema(model, name), body, settings)
    made.setdefault("rules", model_rules(model))
    made.setdefault("parse", _parse(model))
    return Tool(**made)


def _fields(
    function: Callable[..., Any],
    name: str,
    parameters: Mapping[str, Any],
    body: Callable[[Any, Execution], Any],
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    made = dict(settings)
    made["name"] = name
    made.setdefault("description", _summary(function))
    made["parameters"] = parameters
    made["execute"] = body
    return made


def _hints(
    function: Callable[..., Any], name: str, around: Mapping[str, Any] | None
) -> dict[str, Any]:
    try:
        return get_type_hints(function, localns=dict(around or {}), include_extras=True)
    except (NameError, TypeError) as error:
        raise RegistrationError(f"tool {name!r}: a type hint cannot be read: {error}") from error


def _signature_model(
    function: Callable[..., Any], name: str, hints: Mapping[str, Any]
) -> type[BaseModel]:
    """A strict model of the parameters of a function."""
    wanted: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise RegistrationError(f"tool {name!r}: {parameter} cannot be given by a model")
        hint = hints.get(parameter.name)
        if hint is Execution:
            continue
        if hint is None:
            raise RegistrationError(f"tool {name!r}: {parameter.name} has no type hint")
        default = ... if parameter.default is parameter.empty else parameter.default
        wanted[parameter.name] = (hint, default)
    try:
        return create_model(
            name or "Tool", __config__=ConfigDict(strict=True, extra="forbid"), **wanted
        )
    except (PydanticUserError, NameError) as error:
        raise RegistrationError(f"tool {name!r}: {error}") from error


def _summary(function: Callable[..., Any]) -> str:
    """The description: the docstring up to its sections."""
    text = inspect.getdoc(function) or ""
    for section in ("\n\nArgs:", "\n\nReturns:", "\n\nRaises:"):
        text = text.split(section)[0]
    return text.strip()


def _plain_body(
    function: Callable[..., Any], hints: Mapping[str, Any]
) -> Callable[[Any, Execution], Any]:
    """A body that takes the arguments as one object, and an Execution if it wants one."""
    parameters = list(inspect.signature(function).parameters.values())
    wants = next((p.name for p in parameters if hints.get(p.name) is Execution), None)
    if wants is None and len(parameters) > 1:
        wants = parameters[1].name

    def body(arguments: Any, execution: Execution) -> Any:  # noqa: ANN401
        if wants is None:
            return function(arguments)
        return function(arguments, **{wants: execution})

    return _same_colour(function, body)


def _model_body(
    function: Callable[..., Any], hints: Mapping[str, Any]
) -> Callable[[Any, Execution], Any]:
    """A body that spreads a signature model over the function's parameters."""
    names = [n for n in inspect.signature(function).parameters if hints.get(n) is not Execution]
    wants = next((n for n, hint in hints.items() if hint is Execution and n != "return"), None)

    def body(arguments: Any, execution: Execution) -> Any:  # noqa: ANN401
        given = {name: getattr(arguments, name) for name in names}
        if wants is not None:
            given[wants] = execution
        return function(**given)

    return _same_colour(function, body)


def _same_colour(
    function: Callable[..., Any], body: Callable[[Any, Execution], Any]
) -> Callable[[Any, Execution], Any]:
    """Mark the body of a coroutine function as one, so that it is not put into a thread."""
    if not inspect.iscoroutinefunction(function):
        return body

    async def awaited(arguments: Any, execution: Execution) -> Any:  # noqa: ANN401
        return await body(arguments, execution)

    return awaited


_DROPPED = frozenset({"title", "format", "$defs", "discriminator"})


def inlined(schema: Mapping[str, Any], what: str) -> dict[str, Any]:
    """A pydantic schema in the documented subset; RegistrationError where it has no such form."""
    definitions = schema.get("$defs", {})

    def walk(node: Mapping[str, Any], seen: tuple[str, ...]) -> dict[str, Any]:
        if "$ref" in node:
            name = str(node["$ref"]).rsplit("/", 1)[-1]
            if name in seen:
                raise RegistrationError(f"tool {what!r}: the type {name} contains itself")
            rest = {k: v for k, v in node.items() if k != "$ref"}
            return walk({**definitions[name], **rest}, (*seen, name))
        if "anyOf" in node:
            return union(node, "anyOf", seen)
        if "oneOf" in node:
            return union(node, "oneOf", seen)
        made = {k: v for k, v in node.items() if k not in _DROPPED}
        if "properties" in made:
            made["properties"] = {k: walk(v, seen) for k, v in made["properties"].items()}
        if isinstance(made.get("items"), Mapping):
            made["items"] = walk(made["items"], seen)
        extra = made.get("additionalProperties")
        if isinstance(extra, Mapping):
            made["additionalProperties"] = True  # pydantic itself checks the values
        return made

    def union(node: Mapping[str, Any], key: str, seen: tuple[str, ...]) -> dict[str, Any]:
        branches = [walk(branch, seen) for branch in node[key]]
        kinds = [branch.get("type") for branch in branches]
        if key == "anyOf" and len(set(kinds)) != len(kinds):
            raise RegistrationError(f"tool {what!r}: branches of a union share the type {kinds[0]}")
        if {"integer", "number"} <= set(kinds):
            raise RegistrationError(f"tool {what!r}: a union of integer and number is just number")
        rest = {k: v for k, v in node.items() if k not in _DROPPED and k != key}
        return {**rest, "oneOf": branches}

    return walk(schema, ())
