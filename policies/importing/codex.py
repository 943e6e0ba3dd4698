"""Codex exec policies: ``prefix_rule(...)`` in Starlark, read as literals only."""

from __future__ import annotations

import ast
import shlex
from typing import Any

from policies.importing.draft import Draft, DraftRule, Kind, line_of

__all__ = ["read_codex"]

DECISIONS: dict[str, Kind] = {"allow": "allow", "prompt": "ask", "forbidden": "deny"}


class NotEvaluatedError(ValueError):
    """Starlark beyond literals, lists, ``+`` and names."""


def read_codex(text: str) -> Draft:
    """The rules of a codex policy; whatever is not a literal is reported and left out."""
    draft = Draft()
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        draft.lose_deny(f"cannot be read: {error.msg}", error.lineno or 0)
        return draft
    except (ValueError, RecursionError, MemoryError) as error:  # the parser's own bounds
        draft.lose_deny(f"cannot be read: {error}", 0)
        return draft
    names: dict[str, Any] = {}
    for statement in module.body:
        try:
            read_statement(statement, names, draft)
        except NotEvaluatedError as error:
            draft.lose("not-evaluated", str(error), statement.lineno, "error")
            draft.lose_deny("what was not evaluated may have denied something", statement.lineno)
    return draft


def read_statement(statement: ast.stmt, names: dict[str, Any], draft: Draft) -> None:
    """An assignment, or a call of one of the known functions."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name):
            names[target.id] = value_of(statement.value, names)
            return
    if isinstance(statement, ast.Expr):
        if isinstance(statement.value, ast.Constant):
            return
        call = statement.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            fields = {k.arg: value_of(k.value, names) for k in call.keywords if k.arg}
            if not call.args and call.func.id in FUNCTIONS:
                FUNCTIONS[call.func.id](fields, statement.lineno, draft)
                return
    raise NotEvaluatedError(f"{type(statement).__name__} is not evaluated")


def value_of(node: ast.expr, names: dict[str, Any]) -> Any:  # noqa: ANN401 (a literal)
    """A literal, a name of one, a list, or a sum."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List | ast.Tuple):
        return [value_of(item, names) for item in node.elts]
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = value_of(node.left, names), value_of(node.right, names)
        if type(left) is type(right) and isinstance(left, list | str):
            return left + right
    raise NotEvaluatedError(f"{type(node).__name__} is not evaluated")


def prefix_rule(fields: dict[str, Any], line: int, draft: Draft) -> None:
    """``prefix_rule(pattern=[...], decision=...)``."""
    kind = DECISIONS.get(fields.get("decision", "allow"))
    pattern = [[item] if isinstance(item, str) else item for item in fields.get("pattern", [])]
    words = all(isinstance(choice, list) and choice for choice in pattern)
    if kind is None or not pattern or not words:
        draft.lose_deny("a rule without a readable pattern and decision", line)
        return
    if kind == "deny":
        draft.lose("wider-deny", "a prefix there, present anywhere here", line, "note")
    else:
        draft.lose("any-tail", "whatever follows the prefix is not checked (L212)", line, "note")
    lines = line_of(pattern, tail=kind != "deny")
    if len(lines) < len(pattern[0]):
        if kind == "deny":
            draft.lose(
                "unsupported", "a program named by a path is denied here anyway", line, "note"
            )
        else:
            draft.lose("unsupported", "a program is named by its bare name here", line)
    if not lines:
        return
    rule = DraftRule(kind, lines, str(fields.get("justification", "")), source=line)
    rule.good = [words_of(example) for example in fields.get("match", [])]
    rule.bad = [words_of(example) for example in fields.get("not_match", [])]
    draft.rules.append(rule)


def words_of(example: Any) -> list[str]:  # noqa: ANN401 (a literal)
    """An example as words."""
    return shlex.split(example) if isinstance(example, str) else [str(word) for word in example]


def host_executable(fields: dict[str, Any], line: int, draft: Draft) -> None:
    """``host_executable(name=..., paths=[...])``."""
    name, paths = fields.get("name"), fields.get("paths", [])
    if not isinstance(name, str) or any(not str(path).startswith("/") for path in paths):
        draft.lose("unsupported", "paths relative to the home are not carried over", line)
        return
    draft.paths[name] = [str(path) for path in paths]


def network_rule(fields: dict[str, Any], line: int, draft: Draft) -> None:
    """``network_rule(host=..., decision=...)``."""
    host, decision = fields.get("host"), fields.get("decision", "allow")
    if fields.get("protocol", "https") not in ("http", "https"):
        draft.lose("unsupported", "only http and https hosts are carried over", line)
    elif isinstance(host, str) and decision == "allow":
        draft.hosts.append(host)
    else:
        draft.lose("unsupported", "hosts are denied by silence here", line, "note")


FUNCTIONS = {
    "prefix_rule": prefix_rule,
    "host_executable": host_executable,
    "network_rule": network_rule,
}
