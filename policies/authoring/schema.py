"""schema: the JSON Schema of policy files, made from the loader's own tables."""

from __future__ import annotations

from typing import Any

from policies.loading.layer import BUDGETS, FLOAT_LIMITS, LEVELS, LIMITS, STYLES

__all__ = ["policy_schema"]

TEXT: dict[str, Any] = {"type": "string"}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
TABLE: dict[str, Any] = {"type": "object", "additionalProperties": TEXT}
STREAMS: dict[str, Any] = {"type": "array", "items": {"enum": ["read", "write"]}}
LEVEL: dict[str, Any] = {"enum": list(LEVELS)}
FLAG: dict[str, Any] = {"type": "boolean"}
LINES: dict[str, Any] = {
    "type": "array",
    "items": TEXT,
    "description": "synopsis lines, as a manual page writes them",
}
EXAMPLE: dict[str, Any] = {
    "anyOf": [
        TEXT,
        TEXTS,
        {
            "type": "object",
            "required": ["argv"],
            "additionalProperties": False,
            "properties": {
                "argv": {"anyOf": [TEXT, TEXTS]},
                "cwd": TEXT,
                "env": TABLE,
                "decision": {"enum": ["allow", "ask", "deny"]},
            },
        },
    ]
}
EXAMPLES: dict[str, Any] = {"type": "array", "items": EXAMPLE}


def closed(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    """A table without other keys."""
    found: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    return {**found, "required": required} if required else found


def positive(*, whole: bool) -> dict[str, Any]:
    """A number above zero."""
    return {"type": "integer" if whole else "number", "exclusiveMinimum": 0}


def policy_schema() -> dict[str, Any]:
    """The schema of a policy file, for editors and for other tools."""
    limits = closed({key: positive(whole=key not in FLOAT_LIMITS) for key in LIMITS})
    budgets = {key: positive(whole=key != "wall_seconds") for key in BUDGETS if key != "per_tool"}
    budgets["per_tool"] = {"type": "object", "additionalProperties": positive(whole=True)}
    rule = closed(
        {
            "name": TEXT, "reason": TEXT, "program": TEXT, "style": {"enum": list(STYLES)},
            "global": TEXT, "allow": LINES, "ask": LINES, "deny": LINES, "match": EXAMPLES,
            "not_match": EXAMPLES, "runs_code": FLAG, "isolation": LEVEL, "network": TEXTS,
            "limits": limits, "env": TABLE, "set_env": TABLE, "cwd": TEXTS,
            "stdin": {"enum": ["any", "none"]},
            "redirect": {"anyOf": [STREAMS, {"const": "none"}]},
            "max_words": positive(whole=True), "waive": TABLE,
        },
        ["name"],
    )  # fmt: skip
    program = closed(
        {
            "paths": TEXTS, "sha256": TEXT, "also": TEXTS, "env": TABLE, "search": TEXTS,
            "style": {"enum": list(STYLES)}, "workspace": TEXTS,
        }
    )  # fmt: skip
    top = closed(
        {
            "schema": {"const": 1}, "name": TEXT, "description": TEXT, "extends": TEXTS,
            "isolation": LEVEL, "sealed": TEXTS, "drop": TEXTS, "types": TABLE,
            "program": {"type": "object", "additionalProperties": program},
            "plan": closed({"redirect": STREAMS, "globs": FLAG}), "limits": limits,
            "budgets": closed(budgets),
            "tools": closed({"allow": LINES, "ask": LINES, "deny": LINES}),
            "network": closed({"allow": TEXTS}), "env": TABLE,
            "protect": closed({"add": TEXTS, "remove": TEXTS}), "roots": TABLE,
            "rule": {"type": "array", "items": rule},
        },
        ["schema", "name"],
    )  # fmt: skip
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "stockade policy",
        **top,
    }
