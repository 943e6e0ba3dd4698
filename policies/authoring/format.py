"""fmt: synopsis lines in their canonical form, the rest of the file untouched."""

from __future__ import annotations

from policies.loading.loader import Loaded
from policies.synopsis import parse_synopsis
from policies.synopsis.printer import print_synopsis

__all__ = ["format_policy"]

KINDS = ("allow", "ask", "deny")


def format_policy(loaded: Loaded) -> str:
    """The text of the last file with each single-line synopsis printed canonically.

    Multi-line strings keep the breaks that their author chose; comments stay where they are.
    """
    builder = loaded.builder
    layer = builder.layers[-1]
    document = layer.document
    text = document.positions.text
    changes: list[tuple[int, int, str]] = []
    for raw in layer.rules:
        for kind in KINDS:
            for path, line in raw.lines(kind):
                start = document.positions.values[path]
                quote = text[start]
                if text.startswith(quote * 3, start):
                    continue
                name = line.split(None, 1)[0] if line.split() else ""
                style = raw.fields.choice("style", ("gnu", "posix", "words"))
                used = style or builder.styles.get(builder.program_of(name), "gnu")
                parsed = parse_synopsis(line, builder.catalogue, used)  # type: ignore[arg-type]
                printed = print_synopsis(parsed)
                end = end_of_string(text, start)
                if printed != line:
                    changes.append((start, end, toml_string(printed)))
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return "\n".join(line.rstrip() for line in text.split("\n"))


def end_of_string(text: str, start: int) -> int:
    """The offset after a string on one line."""
    quote = text[start]
    at = start + 1
    while text[at] != quote:
        at += 2 if quote == '"' and text[at] == "\\" else 1
    return at + 1


def toml_string(text: str) -> str:
    """A basic string; a literal one where that saves escapes."""
    if ('"' in text or "\\" in text) and "'" not in text:
        return f"'{text}'"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
