"""Calls, outcomes and figures in a few words, for people at a terminal."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["brief", "cut", "duration", "ending", "one_line"]

LONGEST = 1e12
"""Seconds; what is longer, or no number, comes from a log that nobody can have written."""

HARD = frozenset('"$`\\!')
SPECIAL = frozenset("|&;<>")


def brief(name: str, arguments: str) -> str:
    """A call in a few words: its name, and what it is about."""
    try:
        given = json.loads(arguments or "{}")
        about = _about(name, given) if isinstance(given, dict) else arguments
    except (ValueError, RecursionError):
        about = arguments
    return one_line(f"{name} {about}").rstrip()


def _about(name: str, given: Mapping[str, Any]) -> str:
    said = _command(given)
    if said is not None:
        return said
    path = str(given.get("path", ""))
    if name == "edit_file":
        old, new = str(given.get("old", "")), str(given.get("new", ""))
        return f"{path} (-{_lines(old)} +{_lines(new)})"
    if name == "write_file":
        return f"{path} ({len(str(given.get('content', '')).encode('utf-8', 'replace'))} bytes)"
    if name == "apply_patch":
        return ", ".join(_patched(str(given.get("patch", ""))))
    if name == "search_text":
        return f"{given.get('pattern', '')!r} in {path or '.'}"
    return " ".join(str(value) for value in given.values())


def _command(given: Mapping[str, Any]) -> str | None:
    if isinstance(given.get("line"), str):
        return str(given["line"])
    if isinstance(given.get("argv"), list):
        return _words(given["argv"])
    if isinstance(given.get("plan"), list):
        return _plan(given["plan"])
    return None


def _plan(plan: Sequence[object]) -> str:
    parts: list[str] = []
    for one in plan:
        if isinstance(one, str):
            parts.append(one)
        elif isinstance(one, Mapping):
            parts.append(f"cd {one.get('cd', '')}")
        elif isinstance(one, list):
            parts.append(" | ".join(_stage(stage) for stage in one))
    return " ".join(parts)


def _stage(stage: object) -> str:
    if isinstance(stage, Mapping):
        stage = stage.get("argv")
    return _words(stage) if isinstance(stage, list) else str(stage)


def _words(argv: Sequence[object]) -> str:
    return " ".join(_word(str(word)) for word in argv)


def _word(word: str) -> str:
    """Quoted only where a reader would otherwise see two words or another meaning."""
    plain = word and not any(c.isspace() or c in SPECIAL or c in "'\"" for c in word)
    if plain:
        return word
    return f'"{word}"' if "'" in word and not set(word) & HARD else shlex.quote(word)


def _lines(text: str) -> int:
    return len(text.splitlines())


def _patched(patch: str) -> list[str]:
    """The files that a patch names."""
    found = [line[4:].split("\t")[0] for line in patch.splitlines() if line.startswith("+++ ")]
    return [name.removeprefix("b/") for name in found]


def one_line(text: str) -> str:
    """Every run of white space as one space."""
    return " ".join(text.split())


def cut(text: str, width: int) -> str:
    """One line that fits."""
    line = one_line(text)
    return line if len(line) <= width else line[: max(0, width - 1)] + "…"


def duration(seconds: float) -> str:
    """Figures that can be compared at a glance."""
    if seconds < 0.0005:
        return "<1 ms"
    if not seconds < LONGEST:
        return "?"
    steps: tuple[tuple[float, Callable[[float], str]], ...] = (
        (0.0995, lambda s: f"{s * 1000:.0f} ms"),
        (9.995, lambda s: f"{s:.2f} s"),
        (59.95, lambda s: f"{s:.1f} s"),
    )
    for most, form in steps:
        if seconds < most:
            return form(seconds)
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if rest else f"{minutes} min"


def ending(outcome: Mapping[str, Any] | None) -> str:
    """How the last program ended, unless all was well: the tool worked, it need not have."""
    outcomes = outcome.get("outcomes") if outcome else None
    if not outcome or not outcomes:
        return ""
    stopped = outcome.get("problem")  # of a plan, after these programs
    last = outcomes[-1]
    if last.get("ending") == "exited":
        return f"exit {last['code']}" if last.get("code") else "stopped" if stopped else ""
    return str(last.get("ending")).replace("_", " ")
