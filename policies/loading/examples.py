"""Proves the examples of a policy: ``match`` is not denied, ``not_match`` is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from policies.command import Command
from policies.loading.layer import RawRule
from policies.loading.positions import Path
from policies.policy import Policy
from policies.verdict import Decision, Verdict

__all__ = ["Example", "examples_of", "prove", "split_words"]

KEYS = {"argv", "line", "cwd", "decision", "env", "root"}


@dataclass(frozen=True, slots=True)
class Example:
    """One example of a rule.

    Attributes:
        command: the words, and where they run.
        kind: match or not_match.
        decision: the exact decision that is expected, or None.
        path: where it stands in the file.
    """

    command: Command
    kind: str
    decision: Decision | None
    path: Path

    def fault(self, verdict: Verdict) -> str | None:
        """What is wrong when the policy decides like this."""
        got = verdict.decision
        said = (
            f"{got.label} ({verdict.reason}@{verdict.word})" if got is Decision.DENY else got.label
        )
        if self.decision is not None:
            return None if got is self.decision else f"expected {self.decision.label}, got {said}"
        if self.kind == "match":
            return f"must not be denied, got {said}" if got is Decision.DENY else None
        if got is Decision.DENY:
            return None
        return f"must be denied, got {said} by rule {verdict.rule}: {verdict.line}"


def split_words(text: str) -> list[str]:
    """Words and quotes of an example, without any expansion."""
    import shlex

    if "'" not in text and '"' not in text and "\\" not in text:
        return text.split()
    return shlex.split(text, comments=False, posix=True)


def examples_of(raw: RawRule) -> list[Example]:
    """The examples of a rule; faults of their form are noted in the document."""
    found: list[Example] = []
    for kind in ("match", "not_match"):
        values = raw.fields.data.get(kind, [])
        if not isinstance(values, list):
            raw.fields.fault(kind, f"{kind} must be a list of examples")
            continue
        for index, value in enumerate(values):
            path = (*raw.path, kind, index)
            try:
                found.append(example(value, kind, path))
            except ValueError as error:
                raw.layer.document.fault(path, str(error))
    return found


def example(value: object, kind: str, path: Path) -> Example:
    """An example as a string, a list of words, or a table."""
    table: dict[str, Any] = value if isinstance(value, dict) else {"argv": value}
    unknown = set(table) - KEYS
    if unknown:
        raise ValueError(f"unknown key {min(unknown)!r} in an example: argv, cwd, decision")
    argv = table.get("argv")
    if isinstance(argv, str):
        argv = split_words(argv)
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        raise ValueError("an example is a string, a list of words, or { argv, cwd, decision }")
    env = table.get("env", {})
    decision = table.get("decision")
    if decision is not None and decision not in ("allow", "ask", "deny"):
        raise ValueError("decision is allow, ask or deny")
    command = Command(tuple(argv), str(table.get("cwd", ".")), env=tuple(env.items()))
    return Example(command, kind, Decision[decision.upper()] if decision else None, path)


def prove(policy: Policy, rules: list[RawRule]) -> None:
    """Judge every example by the whole policy, and note those that do not hold."""
    for raw in rules:
        for item in examples_of(raw):
            fault = item.fault(policy.judge(item.command))
            if fault is not None:
                raw.layer.document.fault(item.path, f"example of rule {raw.name!r}: {fault}")
