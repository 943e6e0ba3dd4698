"""Gemini CLI policies: TOML rules about ``run_shell_command``."""

from __future__ import annotations

import re
import shlex
import tomllib
from typing import Any

from policies.importing.draft import Draft, DraftRule, Kind, line_of

__all__ = ["read_gemini"]

DECISIONS: dict[str, Kind] = {"allow": "allow", "ask_user": "ask", "deny": "deny"}
UNSUPPORTED = ("modes", "interactive", "mcpName", "subagent", "toolAnnotations", "allowRedirection")
LITERAL_REGEX = re.compile(r"\^([A-Za-z0-9_./ -]+?)(?:\\b|\\s.*| \.\*)?")


def read_gemini(text: str) -> Draft:
    """The rules about commands; the rest is reported."""
    draft = Draft()
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        draft.lose_deny(f"cannot be read: {error}", 0)
        return draft
    lines = [n for n, row in enumerate(text.splitlines(), 1) if row.strip() == "[[rule]]"]
    ranked: list[tuple[int, DraftRule]] = []
    for index, rule in enumerate(data.get("rule", [])):
        line = lines[index] if index < len(lines) else 0
        made = read_rule(rule, line, draft)
        ranked += [(int(rule.get("priority", 0)), one) for one in made]
    inversions(ranked, draft)
    return draft


def read_rule(rule: dict[str, Any], line: int, draft: Draft) -> list[DraftRule]:
    """The draft rules of one rule: one for each prefix."""
    kind = DECISIONS.get(str(rule.get("decision")))
    tools = rule.get("toolName")
    tools = tools if isinstance(tools, list) else [tools]
    for key in UNSUPPORTED:
        if key in rule:
            draft.lose("unsupported", key, line)
    if kind is None or "run_shell_command" not in tools:
        lost = kind == "deny" and tools == ["*"]
        if lost:
            draft.lose_deny("a deny for all tools", line)
        else:
            draft.lose("not-argv", f"{tools[0]} is about a tool: write a [tools] line", line)
        return []
    prefixes = rule.get("commandPrefix", [])
    prefixes = [prefixes] if isinstance(prefixes, str) else list(prefixes)
    pattern = rule.get("commandRegex") or rule.get("argsPattern")
    if pattern is not None:
        prefixes += from_regex(kind, str(pattern), line, draft)
    elif not prefixes:
        if kind == "deny":
            draft.lose_deny("a deny for every command", line)
        else:
            draft.lose("everything", "a rule for every command is refused", line, "error")
    return [one for p in prefixes for one in prefix(kind, str(p), rule, line, draft)]


def from_regex(kind: Kind, pattern: str, line: int, draft: Draft) -> list[str]:
    """A literal beginning of an expression over the command's text, where that says it all."""
    found = LITERAL_REGEX.fullmatch(pattern)
    if found is not None:
        draft.lose("regex", f"read as the prefix {found[1]!r}", line)
        return [found[1].strip()]
    if kind == "allow":
        draft.lose("regex", "an expression over the command's text is refused", line, "error")
    else:
        draft.lose_deny("an expression over the command's text cannot be a line", line)
    return []


def prefix(kind: Kind, text: str, rule: dict[str, Any], line: int, draft: Draft) -> list[DraftRule]:
    """The rule of one command prefix."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    lines = line_of([[word] for word in words], tail=kind != "deny") if words else []
    if not lines:
        if kind == "deny" and "/" not in text.split(" ", maxsplit=1)[0]:
            draft.lose_deny(f"{text!r} is not a command", line)
        else:
            draft.lose("unsupported", f"{text!r} does not begin with a bare name", line)
        return []
    if kind == "deny":
        draft.lose("wider-deny", "a prefix there, present anywhere here", line, "note")
    else:
        draft.lose("any-tail", "whatever follows the prefix is not checked (L212)", line, "note")
        draft.lose("string-prefix", "the prefix ends at the border of a word here", line, "note")
    made = DraftRule(kind, lines, str(rule.get("denyMessage", "")), source=line)
    draft.rules.append(made)
    return [made]


def overlap(allow: str, deny: str) -> bool:
    """Whether one prefix begins with the other."""
    one, two = allow.replace(" [ANY...]", "").split(), deny.split()
    size = min(len(one), len(two))
    return one[:size] == two[:size]


def inversions(ranked: list[tuple[int, DraftRule]], draft: Draft) -> None:
    """An allow that outranks a deny there is denied here."""
    for high, allow in ranked:
        for low, deny in ranked:
            if allow.kind == "deny" or deny.kind != "deny" or high <= low:
                continue
            if overlap(allow.lines[0], deny.lines[0]):
                text = f"the allow of line {allow.source} outranks the deny of line {deny.source}"
                draft.lose("priority-inversion", f"{text}: denied here", allow.source)
