"""``${NAME}`` and ``${NAME:-default}`` in a task's environment tables."""

from __future__ import annotations

import re
from collections.abc import Mapping

from harness.task.error import Problem

__all__ = ["expand"]

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def expand(
    table: Mapping[str, str], key: str, environ: Mapping[str, str]
) -> tuple[tuple[tuple[str, str], ...], list[Problem]]:
    """The table with the operator's variables filled in, and those that are not set.

    ``environ`` holds what the operator lets tasks read, and every other variable counts as unset:
    a task that could choose for itself would choose the operator's keys.
    """
    problems: list[Problem] = []

    def value(name: str, match: re.Match[str]) -> str:
        given = environ.get(match[1], match[2])
        if given is None:
            message = f"the variable {match[1]} is not given to tasks, or not set"
            fix = f"set it and add --task-env {match[1]}, or write ${{{match[1]}:-default}}"
            problems.append(Problem("task.toml", f"{key}.{name}", message, fix))
        return given or ""

    pairs = []
    for name, text in table.items():
        pairs.append((name, REFERENCE.sub(lambda match, name=name: value(name, match), text)))  # type: ignore[misc]
    return tuple(pairs), problems
