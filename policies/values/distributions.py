"""PKG(ecosystem): the name of a package with a version constraint, and nothing else."""

from __future__ import annotations

import re

__all__ = ["PACKAGES"]

PACKAGES: dict[str, re.Pattern[str]] = {
    "pypi": re.compile(
        r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9_,-]*\])?"
        r"((==|!=|<=|>=|~=|<|>)[0-9][A-Za-z0-9.*+!_-]*"
        r"(,(==|!=|<=|>=|~=|<|>)[0-9][A-Za-z0-9.*+!_-]*)*)?"
    ),
    "npm": re.compile(
        r"(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*"
        r"(@([\^~]|<=|>=|<|>)?([0-9][A-Za-z0-9.+-]*|latest|next))?"
    ),
    "cargo": re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(@[\^~=]?[0-9][A-Za-z0-9.+-]*)?"),
    "go": re.compile(
        r"[a-z0-9][a-z0-9-]*(\.[a-z0-9-]+)+(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*"
        r"(@(v[0-9][A-Za-z0-9.+-]*|latest|upgrade|patch|none))?"
    ),
    "gem": re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(:[0-9][A-Za-z0-9.]*)?"),
    "apt": re.compile(r"[a-z0-9][a-z0-9+.-]+(:[a-z0-9]+)?(=[0-9A-Za-z][A-Za-z0-9.+:~-]*)?"),
}
"""One form an ecosystem: no URL, no path, no option, no other index."""
