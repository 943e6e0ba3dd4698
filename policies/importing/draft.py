"""Draft: the rules of an import before they are written as TOML."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Literal

from policies.authoring.quoted import quoted
from policies.synopsis.printer import print_word

__all__ = ["Draft", "DraftRule", "Loss", "line_of"]

Kind = Literal["allow", "ask", "deny"]
PROGRAM = re.compile(r"[A-Za-z0-9_.+-]+")


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that could not be carried over as it was.

    Attributes:
        code: ``any-tail`` and so on.
        message: what it means here.
        line: line of the source, from 1; 0 where the source has no lines.
        severity: error when something is refused, else note.
    """

    code: str
    message: str
    line: int
    severity: Literal["error", "warning", "note"] = "warning"

    def __str__(self) -> str:
        return f"line {self.line}: {self.severity}: {self.code}: {self.message}"


@dataclass(slots=True)
class DraftRule:
    """One rule of the import.

    Attributes:
        kind: allow, ask or deny.
        lines: its synopsis lines, in style words.
        reason: the author's words.
        good: examples that the source says match.
        bad: examples that the source says do not.
        source: line of the source.
    """

    kind: Kind
    lines: list[str]
    reason: str = ""
    good: list[list[str]] = field(default_factory=list)
    bad: list[list[str]] = field(default_factory=list)
    source: int = 0


@dataclass(slots=True)
class Draft:
    """The rules of an import and what was lost on the way."""

    rules: list[DraftRule] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    paths: dict[str, list[str]] = field(default_factory=dict)
    deny_lost: bool = False

    def lose(
        self,
        code: str,
        message: str,
        line: int,
        severity: Literal["error", "warning", "note"] = "warning",
    ) -> None:
        """Report a loss."""
        self.losses.append(Loss(code, message, line, severity))

    def lose_deny(self, message: str, line: int) -> None:
        """A deny that cannot be written: every allow becomes an ask, so nothing is widened."""
        self.deny_lost = True
        self.lose("deny-lost", f"{message}; every allow of this import becomes ask", line, "error")

    def toml(self, name: str) -> str:
        """The draft as a policy file."""
        rows = ["schema = 1", f"name = {json.dumps(name)}", 'isolation = "namespace"', ""]
        if self.hosts:
            rows += ["[network]", f"allow = {json.dumps(self.hosts)}", ""]
        for program, paths in self.paths.items():
            rows += [f"[program.{json.dumps(program)}]", f"paths = {json.dumps(paths)}", ""]
        for number, rule in enumerate(self.rules):
            kind = "ask" if rule.kind == "allow" and self.deny_lost else rule.kind
            rows += ["[[rule]]", f"name = {json.dumps(f'imported-{number}')}", 'style = "words"']
            if rule.reason:
                rows.append(f"reason = {json.dumps(rule.reason)}")
            rows.append(f"{kind} = {quoted(rule.lines)}")
            for key, examples in (("match", rule.good), ("not_match", rule.bad)):
                if examples:
                    rows.append(f"{key} = {quoted(examples)}")
            rows.append("")
        return "\n".join(rows)


def line_of(words: list[list[str]], *, tail: bool) -> list[str]:
    """Lines of a sequence of alternatives; one line for each program. [] for odd programs."""
    found: list[str] = []
    for program in words[0]:
        if PROGRAM.fullmatch(program) is None or program.startswith("-"):
            continue
        parts = [program]
        for choice in words[1:]:
            shown = [print_word(word, "words") for word in choice]
            parts.append(shown[0] if len(shown) == 1 else f"({'|'.join(shown)})")
        if tail:
            parts.append("[ANY...]")
        found.append(" ".join(parts))
    return found
