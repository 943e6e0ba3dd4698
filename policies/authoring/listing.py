"""show: the merged lines of a policy with the place each comes from."""

from __future__ import annotations

from dataclasses import dataclass

from policies.loading.loader import Loaded

__all__ = ["ShownLine", "show_lines"]


@dataclass(frozen=True, slots=True)
class ShownLine:
    """One line of the merged policy."""

    program: str
    decision: str
    rule: str
    text: str
    file: str
    line: int
    runs_code: bool
    isolation: str


def show_lines(loaded: Loaded) -> list[ShownLine]:
    """Every line that counts, by program, deny lines last."""
    found: list[ShownLine] = []
    for entry in loaded.policy.entries:
        layer, path = loaded.builder.places[entry.number]
        rule = entry.rule
        found.append(
            ShownLine(
                entry.line.program,
                entry.decision.label,
                rule.name,
                entry.line.text,
                layer.origin,
                layer.document.line_of(path),
                rule.runs_code,
                rule.conditions.isolation.label,
            )
        )
    for ban in loaded.policy.bans:
        raw = loaded.builder.rules[ban.rule.name]
        place = raw.layer.document.line_of((*raw.path, "deny"))
        found.append(
            ShownLine(
                ban.line.program,
                "deny",
                ban.rule.name,
                ban.line.text,
                raw.layer.origin,
                place,
                runs_code=False,
                isolation=ban.rule.conditions.isolation.label,
            )
        )
    return sorted(found, key=lambda line: (line.program, line.decision == "deny"))
