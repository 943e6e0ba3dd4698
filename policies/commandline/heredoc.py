"""Heredocs: their bodies are data for the standard input of a stage."""

from __future__ import annotations

from dataclasses import dataclass

from policies.commandline.error import LineError

__all__ = ["Heredoc", "read_bodies"]

MOST_BYTES = 1 << 20
EXPANDING = frozenset("$`\\")


@dataclass(frozen=True, slots=True)
class Heredoc:
    """A heredoc whose body is still to come.

    Attributes:
        token: index of its token.
        delimiter: the line that ends it.
        column: where it was opened.
        strip: leading tabs are taken off (``<<-``).
        quoted: nothing in the body is special.
    """

    token: int
    delimiter: str
    column: int
    strip: bool
    quoted: bool


def read_bodies(text: str, at: int, waiting: list[Heredoc]) -> tuple[int, list[tuple[int, str]]]:
    """The bodies that begin at a column, in order, and where the line goes on."""
    found: list[tuple[int, str]] = []
    for heredoc in waiting:
        lines: list[str] = []
        start = at
        while True:
            if at >= len(text):
                raise LineError(
                    "plan:heredoc-unterminated",
                    heredoc.column,
                    f"the heredoc has no end: close it with a line {heredoc.delimiter}",
                )
            end = text.find("\n", at)
            line = text[at:] if end < 0 else text[at:end]
            at = len(text) if end < 0 else end + 1
            if heredoc.strip:
                line = line.lstrip("\t")
            if line == heredoc.delimiter:
                break
            lines.append(line + "\n")
        body = "".join(lines)
        check_body(heredoc, body, start)
        found.append((heredoc.token, body))
    return at, found


def check_body(heredoc: Heredoc, body: str, start: int) -> None:
    """Refuse what a shell would expand, and what is too long."""
    if not heredoc.quoted and EXPANDING & set(body):
        first = min(body.find(c) for c in EXPANDING if c in body)
        raise LineError(
            "plan:heredoc-expansion",
            start + first,
            f"this heredoc would be expanded: quote its delimiter, <<'{heredoc.delimiter}'",
        )
    if len(body.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise LineError(
            "plan:heredoc-too-long", heredoc.column, "a heredoc holds at most 1 MiB: write a file"
        )
