"""Layer: one policy file by the schema (decision 14), before anything is compiled."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from policies.limits import Budgets, Isolation, Limits
from policies.loading.document import Document
from policies.loading.fields import Fields
from policies.loading.positions import Path

__all__ = ["Layer", "RawRule"]

TOP = (
    "schema", "name", "description", "extends", "isolation", "sealed", "drop", "types", "program",
    "plan", "limits", "budgets", "tools", "network", "env", "protect", "roots", "rule",
)  # fmt: skip
RULE = (
    "name", "reason", "program", "style", "global", "allow", "ask", "deny", "match", "not_match",
    "runs_code", "isolation", "network", "limits", "env", "set_env", "cwd", "stdin", "redirect",
    "max_words", "waive",
)  # fmt: skip
PROGRAM = ("paths", "sha256", "also", "env", "style", "search", "workspace")
STYLES = ("gnu", "posix", "words")
LIMITS = tuple(field.name for field in fields(Limits))
FLOAT_LIMITS = ("wall_seconds", "cpu_seconds")
BUDGETS = tuple(field.name for field in fields(Budgets))
LEVELS = tuple(level.label for level in Isolation)


@dataclass(slots=True)
class RawRule:
    """A ``[[rule]]`` table with its fields read, its lines still text."""

    path: Path
    layer: Layer
    fields: Fields
    name: str

    def lines(self, kind: str) -> list[tuple[Path, str]]:
        """The lines of one kind with their places."""
        texts = self.fields.texts(kind)
        single = isinstance(self.fields.data.get(kind), str)
        return [
            ((*self.path, kind) if single else (*self.path, kind, index), text)
            for index, text in enumerate(texts)
        ]


class Layer:
    """One file: its own content, and what it extends."""

    def __init__(self, document: Document, *, origin: str) -> None:
        self.document = document
        self.origin = origin
        top = Fields(document, (), document.data)
        self.top = top
        top.only(TOP, "a policy file")
        if top.data.get("schema") != 1:
            document.fault(("schema",), "schema must be 1", "write schema = 1", key=True)
        self.name = top.text("name")
        if not self.name:
            document.fault(("name",), "a policy has a name", 'write name = "..."', key=True)
        self.description = top.text("description")
        self.extends = top.texts("extends")
        self.bases: list[str] = []  # names of the files that `extends` led to
        self.isolation = self.level(top)
        self.sealed = top.texts("sealed")
        self.drop = top.texts("drop")
        self.types = self.strings(top.table("types"))
        self.roots = self.read_roots(top.table("roots"))
        self.limits = limit_values(top.table("limits"))
        self.budgets = self.read_budgets(top.table("budgets"))
        self.plan = top.table("plan")
        self.plan.only(("redirect", "globs"), "[plan]")
        self.tools = top.table("tools")
        self.tools.only(("allow", "ask", "deny"), "[tools]")
        network = top.table("network")
        network.only(("allow",), "[network]")
        self.network = tuple(network.texts("allow"))
        self.env = self.strings(top.table("env"))
        protect = top.table("protect")
        protect.only(("add", "remove"), "[protect]")
        self.protect_add = protect.texts("add")
        self.protect_remove = protect.texts("remove")
        self.programs = self.read_programs(top.table("program"))
        self.rules = self.read_rules()

    def level(self, fields: Fields) -> Isolation | None:
        """The isolation a table asks for."""
        text = fields.choice("isolation", LEVELS)
        return None if text is None else Isolation.parse(text)

    def strings(self, table: Fields) -> dict[str, str]:
        """All keys of a table, with string values."""
        return {key: table.text(key) for key in table.data}

    def read_roots(self, table: Fields) -> dict[str, str]:
        """``[roots]``: names and absolute paths."""
        roots = self.strings(table)
        for key, path in roots.items():
            plain = key.isascii() and key[:1].islower() and key.replace("-", "").isalnum()
            if not plain or key == "workspace":
                table.fault(key, "a root has a lower-case name", at_key=True)
            if not path.startswith("/") or ".." in path.split("/") or path.strip("/") == "":
                table.fault(key, "a root is an absolute path below /", 'for example "/data"')
        return roots

    def read_budgets(self, table: Fields) -> dict[str, Any]:
        """``[budgets]``."""
        table.only(BUDGETS, "[budgets]")
        found: dict[str, Any] = {}
        for key in ("steps", "tool_calls", "wall_seconds"):
            value = table.number(key, whole=key != "wall_seconds")
            if value is not None:
                found[key] = value
        tools = table.table("per_tool")
        per_tool = {key: tools.number(key, whole=True) for key in tools.data}
        found["per_tool"] = {key: value for key, value in per_tool.items() if value is not None}
        return found

    def read_programs(self, table: Fields) -> dict[str, Fields]:
        """``[program.X]``, one table a program."""
        programs = {key: table.table(key) for key in table.data}
        for name, table_ in programs.items():
            table_.only(PROGRAM, f"[program.{name}]")
        return programs

    def read_rules(self) -> list[RawRule]:
        """``[[rule]]``, with the fields each must have."""
        tables = self.top.data.get("rule", [])
        if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
            self.top.fault("rule", "rules are tables", "write [[rule]]")
            return []
        rules: list[RawRule] = []
        for index, table in enumerate(tables):
            path: Path = ("rule", index)
            fields = Fields(self.document, path, table)
            fields.only(RULE, "a rule")
            name = fields.text("name")
            if not name:
                self.document.fault(path, "a rule has a name", 'write name = "..."', key=True)
            if not any(table.get(kind) for kind in ("allow", "ask", "deny")):
                self.document.fault(
                    path, "a rule has lines", "write allow, ask or deny = [...]", key=True
                )
            rules.append(RawRule(path, self, fields, name))
        return rules


def limit_values(table: Fields) -> dict[str, float]:
    """The limits that a table sets."""
    table.only(LIMITS, "limits")
    found: dict[str, float] = {}
    for key in LIMITS:
        value = table.number(key, whole=key not in FLOAT_LIMITS)
        if value is not None:
            found[key] = value
    return found
