"""Where a task's own files lie in a box, and how its scripts are told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from runners import Root, Session, UnavailableError

__all__ = ["expand_word", "need_fixed_paths", "task_environment"]

VARIABLES: tuple[tuple[str, Root], ...] = (
    ("STOCKADE_TESTS", "tests"),
    ("STOCKADE_LOGS", "logs"),
    ("STOCKADE_SOLUTION", "solution"),
    ("STOCKADE_WORKSPACE", "workspace"),
)
FIXED = re.compile(r"(?<![\w$}/.~-])/(?:tests|logs|solution)(?=[/\s\"';:)]|$)", re.MULTILINE)


def task_environment(session: Session) -> dict[str, str]:
    """The variables that name the box's folders to a task's own scripts."""
    return {name: session.paths[root] for name, root in VARIABLES}


def expand_word(word: str, environment: Mapping[str, str]) -> str:
    """A word of a verify command with a leading ``$STOCKADE_...`` replaced; no shell is asked."""
    for name, value in environment.items():
        for form in (f"${name}", f"${{{name}}}"):
            if word == form or word.startswith(form + "/"):
                return value + word[len(form) :]
    return word


def need_fixed_paths(session: Session, script: Path) -> None:
    """Refuse a script that names ``/tests`` or ``/logs`` in a box that has them elsewhere."""
    if session.paths["tests"] == "/tests":
        return
    text = script.read_text(encoding="utf-8", errors="replace")
    code = "\n".join(line.partition(" #")[0] for line in text.splitlines()[1:])
    if found := FIXED.search(code):
        raise UnavailableError(
            f"{script.name} uses the fixed path {found[0]}, which this process box does not have; "
            "use another --runner, or $STOCKADE_TESTS and $STOCKADE_LOGS in the script"
        )
