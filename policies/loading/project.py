"""Project: a file that can only take away, since a model may have written it."""

from __future__ import annotations

from policies.limits import Budgets, Isolation, Limits
from policies.loading.document import Document
from policies.loading.fields import Fields
from policies.loading.layer import BUDGETS, LEVELS, limit_values
from policies.loading.positions import Path

__all__ = ["Project"]

KEYS = (
    "schema", "name", "description", "isolation", "limits", "budgets", "deny", "only", "drop",
)  # fmt: skip


class Project:
    """A restrict-only file: deny lines, ``only`` lines, a higher level, lower limits, ``drop``.

    Attributes:
        document: the file.
        name: as it says.
        deny: deny lines with their places.
        only: for each program named here, a command must also match one of these lines.
        drop: rules that are taken out.
        isolation: a level that is demanded in any case.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        top = Fields(document, (), document.data)
        top.only(KEYS, "a project file (it can only take away)")
        if top.data.get("schema") != 1:
            document.fault(("schema",), "schema must be 1", "write schema = 1", key=True)
        self.name = top.text("name", "project")
        self.deny = self.lines(top, "deny")
        self.only = self.lines(top, "only")
        self.drop = top.texts("drop")
        level = top.choice("isolation", LEVELS)
        self.isolation = Isolation.PROCESS if level is None else Isolation.parse(level)
        self.limit_values = limit_values(top.table("limits"))
        self.budget_values = self.read_budgets(top.table("budgets"))

    def lines(self, top: Fields, kind: str) -> list[tuple[Path, str]]:
        """The lines of a kind with their places."""
        return [((kind, index), text) for index, text in enumerate(top.texts(kind))]

    def read_budgets(self, table: Fields) -> dict[str, float]:
        """The budgets that the file lowers."""
        names = [name for name in BUDGETS if name != "per_tool"]
        table.only(names, "[budgets] of a project file")
        found = {name: table.number(name, whole=name != "wall_seconds") for name in names}
        return {name: value for name, value in found.items() if value is not None}

    def lowered(self, limits: Limits) -> Limits:
        """The smaller of each limit."""
        from dataclasses import replace

        smaller = {k: min(v, getattr(limits, k)) for k, v in self.limit_values.items()}
        return replace(limits, **smaller)

    def spare(self, budgets: Budgets) -> Budgets:
        """The smaller of each budget."""
        from dataclasses import replace

        smaller = {k: min(v, getattr(budgets, k)) for k, v in self.budget_values.items()}
        return replace(budgets, **smaller)
