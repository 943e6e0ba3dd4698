"""The documented subset of JSON Schema."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import RegistrationError
from harness.schema import Schema

NESTED = {
    "type": "object",
    "properties": {
        "flags": {"type": "array", "items": {"type": "string"}},
        "where": {
            "type": "object",
            "properties": {"line": {"type": "integer", "minimum": 1}},
            "required": ["line"],
            "additionalProperties": False,
        },
        "mode": {"type": "string", "enum": ["fast", "safe"]},
    },
    "required": ["flags"],
}


def faults(schema: dict[str, Any], value: object) -> list[str]:
    return Schema(schema).violations(value)


@pytest.mark.req("S-42")
@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("object", {}, []),
        ("array", [], {}),
        ("string", "", 1),
        ("number", 1.5, "1"),
        ("integer", 1, 1.5),
        ("boolean", True, 1),
        ("null", None, 0),
    ],
)
def test_each_type_admits_its_own_and_nothing_else(kind: str, good: object, bad: object) -> None:
    assert faults({"type": kind}, good) == []
    assert len(faults({"type": kind}, bad)) == 1


@pytest.mark.req("S-51")
@pytest.mark.parametrize("kind", ["number", "integer"])
def test_true_is_no_number(kind: str) -> None:
    article = "an" if kind == "integer" else "a"
    assert faults({"type": kind}, True) == [f"$: must be {article} {kind}, not a boolean"]


@pytest.mark.req("S-43", "S-47")
def test_a_violation_in_a_nested_object_has_its_place() -> None:
    value = {"flags": ["a", 2], "where": {"line": 0, "column": 3}}
    assert faults(NESTED, value) == [
        "$.flags[1]: must be a string, not an integer",
        "$.where.column: is not declared (known: line)",
        "$.where.line: must be at least 1, not 0",
    ]


@pytest.mark.req("S-44")
def test_undeclared_keys_pass_unless_they_are_excluded() -> None:
    open_schema = {"type": "object", "properties": {}}
    assert faults(open_schema, {"x": 1}) == []
    assert faults({**open_schema, "additionalProperties": False}, {"x": 1}) == [
        "$.x: is not declared (known: none)"
    ]


@pytest.mark.req("S-45")
def test_every_item_of_an_array_is_checked() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    assert faults(schema, [1, "a", 2, None]) == [
        "$[1]: must be an integer, not a string",
        "$[3]: must be an integer, not null",
    ]


@pytest.mark.req("S-46")
@pytest.mark.parametrize(("value", "ok"), [("fast", True), ("slow", False), (True, False)])
def test_a_value_outside_of_an_enum_is_refused(value: object, ok: bool) -> None:
    assert (faults({"enum": ["fast", 1]}, value) == []) is ok


@pytest.mark.req("S-40")
def test_a_missing_key_is_named() -> None:
    assert faults(NESTED, {}) == ["$.flags: is required, but missing"]


def test_odd_keys_are_quoted_in_places() -> None:
    schema = {"type": "object", "properties": {"a b": {"type": "string"}}}
    assert faults(schema, {"a b": 1}) == ['$["a b"]: must be a string, not an integer']


@pytest.mark.req("S-49", "S-50")
@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "object", "patternProperties": {}}, r"\$\.patternProperties"),
        ({"$ref": "#/x"}, r'\$\["\$ref"\]: this keyword is not supported'),
        ({"type": "string", "minimum": 1}, r"\$\.minimum: this keyword is not supported for type"),
        ({"type": ["string", "null"]}, r"\$\.type: must be one of"),
        ({"type": "text"}, r"\$\.type: must be one of"),
        ({"type": "object", "required": ["x"]}, "undeclared properties: x"),
        ({"type": "object", "additionalProperties": {}}, "must be true or false"),
        ({"type": "object", "properties": ["a"]}, r"\$\.properties: must be an object of schemas"),
        ({"type": "array", "items": 3}, r"\$\.items: a schema must be an object"),
        ({"oneOf": [{}]}, "two schemas or more"),
        ({"enum": []}, r"\$\.enum"),
        ({"const": {}}, r"\$\.const"),
        ({"type": "string", "pattern": "("}, "no regular expression"),
        ({"type": "string", "maxLength": -1}, "a whole number"),
        ({"type": "number", "maximum": float("nan")}, "must be a number"),
        ({"type": "object", "properties": {"a": {"format": "date"}}}, r"properties\.a\.format"),
    ],
)
def test_a_keyword_outside_of_the_subset_is_refused_at_once(
    schema: dict[str, Any], words: str
) -> None:
    with pytest.raises(RegistrationError, match=words):
        Schema(schema)


def test_the_name_of_a_property_is_a_text() -> None:
    with pytest.raises(RegistrationError, match=r"\$\.properties: a name must be a string"):
        Schema({"type": "object", "properties": {1: {}}})


def test_all_faults_of_a_schema_are_told_at_once() -> None:
    with pytest.raises(RegistrationError) as caught:
        Schema({"type": "object", "properties": {"a": {"x": 1}}, "y": 2})
    assert str(caught.value).count("not supported") == 2


@pytest.mark.parametrize(
    ("schema", "value", "fault"),
    [
        ({"type": "string", "minLength": 2}, "a", "at least 2 characters"),
        ({"type": "string", "maxLength": 2}, "abc", "at most 2 characters"),
        ({"type": "string", "pattern": "^a"}, "b", "must match"),
        ({"type": "array", "minItems": 1}, [], "at least 1 items"),
        ({"type": "array", "maxItems": 1}, [1, 2], "at most 1 items"),
        ({"type": "number", "maximum": 3}, 4, "at most 3"),
        ({"type": "number", "exclusiveMinimum": 3}, 3, "more than 3"),
        ({"type": "number", "exclusiveMaximum": 3}, 3, "less than 3"),
        ({"type": "number"}, float("inf"), "finite"),
        ({"const": 1}, 2, "must be 1"),
        ({"const": 1}, True, "must be 1"),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, 1, "none of the allowed forms"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 1, "fits 2 of the allowed forms"),
    ],
)
def test_bounds_and_forms(schema: dict[str, Any], value: object, fault: str) -> None:
    found = faults(schema, value)
    assert len(found) == 1
    assert fault in found[0]


def test_a_deep_value_does_not_exhaust_the_stack() -> None:
    schema: dict[str, Any] = {"type": "array", "items": {"type": "array"}}
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    assert faults(schema, value) == []


SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer"},
            {"type": "boolean"},
            {"type": "null"},
            {"type": "number", "minimum": 0},
            {"type": "string", "maxLength": 3},
            {"enum": ["a", 1, None]},
        ]
    ),
    lambda inner: st.one_of(
        inner.map(lambda s: {"type": "array", "items": s}),
        st.tuples(inner, st.booleans()).map(
            lambda pair: {
                "type": "object",
                "properties": {"a": pair[0]},
                "required": ["a"],
                "additionalProperties": pair[1],
            }
        ),
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text("ab", max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=8,
)


@given(SCHEMAS, VALUES)
def test_it_agrees_with_a_full_validator(schema: dict[str, Any], value: object) -> None:
    assert (faults(schema, value) == []) is jsonschema.Draft202012Validator(schema).is_valid(value)


BOUNDED = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "maxLength": 2},
        "count": {"type": "integer", "minimum": 1},
        "on": {"type": "boolean"},
        "ratio": {"type": "number"},
    },
    "required": ["text"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"text": "ab", "count": 1, "on": True}, []),
        ({"text": "ab", "ratio": 0.5}, []),
        ({"text": "abc"}, ["$.text: must have at most 2 characters, has 3"]),
        ({"text": "a", "count": 0}, ["$.count: must be at least 1, not 0"]),
        ({"text": "a", "count": True}, ["$.count: must be an integer, not a boolean"]),
        ({"text": "a", "on": 1}, ["$.on: must be a boolean, not an integer"]),
        ({"text": "a", "ratio": float("inf")}, ["$.ratio: must be a finite number"]),
        ({"count": 1}, ["$.text: is required, but missing"]),
        (
            {"text": "a", "more": 1},
            ["$.more: is not declared (known: text, count, on, ratio)"],
        ),
        ({"text": None}, ["$.text: must be a string, not null"]),
        ([], ["$: must be an object, not an array"]),
    ],
)
def test_flat_arguments_are_looked_at_as_closely_as_nested_ones(
    value: object, expected: list[str]
) -> None:
    assert faults(BOUNDED, value) == expected
    nested = {"type": "array", "items": BOUNDED}
    assert faults(nested, [value]) == [text.replace("$", "$[0]", 1) for text in expected]


def test_an_object_with_branches_is_not_taken_at_first_sight() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "oneOf": [{"type": "object", "required": []}, {"type": "object", "required": []}],
    }
    assert faults(schema, {"a": "x"}) == ["$: fits 2 of the allowed forms, must fit exactly one"]
