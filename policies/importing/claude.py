"""Claude Code permissions: the ``allow``, ``ask`` and ``deny`` lists of a settings file."""

from __future__ import annotations

import json
import re
import shlex

from policies.importing.draft import Draft, DraftRule, Kind, line_of
from policies.synopsis.printer import print_word

__all__ = ["read_claude"]

ENTRY = re.compile(r"(\w+)(?:\((.*)\))?", re.DOTALL)
OPERATORS = re.compile(r"[|&;<>`$]")
KINDS: tuple[Kind, ...] = ("allow", "ask", "deny")
OTHER = ("defaultMode", "additionalDirectories", "disableBypassPermissionsMode")


def read_claude(text: str) -> Draft:
    """The permissions of a settings file; tool rules are not commands and are reported."""
    draft = Draft()
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        draft.lose_deny(f"cannot be read: {error}", 0)
        return draft
    permissions = data.get("permissions", {}) if isinstance(data, dict) else {}
    for key in OTHER:
        if key in permissions:
            draft.lose("unsupported", key, line_in(text, f'"{key}"'))
    for kind in KINDS:
        for entry in permissions.get(kind, []):
            read_entry(kind, str(entry), line_in(text, json.dumps(entry)), draft)
    return draft


def line_in(text: str, part: str) -> int:
    """The line of the source on which a part first stands."""
    at = text.find(part)
    return text.count("\n", 0, at) + 1 if at >= 0 else 0


def read_entry(kind: Kind, entry: str, line: int, draft: Draft) -> None:
    """One entry such as ``Bash(git diff:*)``."""
    found = ENTRY.fullmatch(entry)
    tool, inside = (found[1], found[2]) if found else (entry, None)
    if tool == "WebFetch" and inside and inside.startswith("domain:") and kind == "allow":
        draft.hosts.append(inside.removeprefix("domain:"))
    elif tool != "Bash":
        draft.lose("not-argv", f"{entry} is about a tool: write a [tools] line", line)
    elif inside is None or inside.strip() in ("*", ":*", ""):
        everything(kind, entry, line, draft)
    else:
        command(kind, inside, line, draft)


def everything(kind: Kind, entry: str, line: int, draft: Draft) -> None:
    """``Bash`` and ``Bash(*)``."""
    if kind == "deny":
        draft.rules = [rule for rule in draft.rules if rule.kind == "deny"]
        draft.lose("everything", f"{entry} denies all commands: nothing is allowed", line, "error")
        return
    draft.lose("everything", f"{entry} is refused: name the commands", line, "error")


def command(kind: Kind, pattern: str, line: int, draft: Draft) -> None:
    """An exact command, or one that ends in ``:*``."""
    prefix = pattern.endswith((":*", " *"))
    spaced = pattern.endswith(" *")
    body = pattern[:-2].strip() if prefix else pattern
    words = split(body)
    if words is None or OPERATORS.search(body):
        if kind == "allow":
            draft.lose("not-argv", f"{pattern!r} is more than one command: refused", line, "error")
        else:
            draft.lose_deny(f"{pattern!r} is more than one command", line)
        return
    if any("*" in word for word in words):
        globbed(kind, words, line, draft)
        return
    if kind == "deny":
        deny(words, line, draft, glued=prefix and not spaced)
        return
    text = line_of([[word] for word in words], tail=prefix)
    if not text:
        draft.lose("unsupported", f"{words[0]!r} is not the bare name of a program", line)
        return
    if prefix and not spaced and len(words) > 1:
        head = " ".join([words[0], *(print_word(word, "words") for word in words[1:-1])])
        text = [f"{head} {beginning(words[-1])} [ANY...]"]
        draft.lose("string-prefix", "the border of the last word is guessed", line, "note")
    elif prefix:
        draft.lose("string-prefix", f"only the program {words[0]} itself", line, "note")
    draft.rules.append(DraftRule(kind, text, source=line))


def beginning(word: str) -> str:
    """A type for every word that begins like this."""
    return f"RE(/{re.sub(r'([^A-Za-z0-9_ ])', lambda m: chr(92) + m[1], word)}.*/):dash"


def deny(words: list[str], line: int, draft: Draft, *, glued: bool) -> None:
    """A deny entry: everything that it writes, present anywhere."""
    draft.lose("wider-deny", "a string prefix there, present anywhere here", line, "note")
    text = line_of([[word] for word in words], tail=False)
    if not text:
        draft.lose("unsupported", f"{words[0]!r}: a program by its path is denied anyway", line)
        return
    if glued and len(words) > 1:
        parts = [words[0], *(print_word(word, "words") for word in words[1:-1])]
        text = [" ".join([*parts, beginning(words[-1])])]
    elif glued:
        draft.lose("string-prefix", f"only the program {words[0]} itself is denied", line)
    draft.rules.append(DraftRule("deny", text, source=line))


def globbed(kind: Kind, words: list[str], line: int, draft: Draft) -> None:
    """A pattern with ``*`` in the middle."""
    if kind == "allow":
        draft.lose("glob-middle", f"{' '.join(words)!r} is refused: write a line", line, "error")
        return
    literal = [word for word in words if "*" not in word]
    if not literal or "*" in words[0]:
        draft.lose_deny(f"{' '.join(words)!r} names no program", line)
        return
    draft.lose("glob-middle", "denied whenever the words beside the * are present", line)
    deny(literal, line, draft, glued=False)


def split(body: str) -> list[str] | None:
    """The words of a command, or None."""
    try:
        return shlex.split(body) or None
    except ValueError:
        return None
