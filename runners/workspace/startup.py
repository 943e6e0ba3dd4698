"""Files that run by themselves when tests start, and that a program put into the result.

A verifier that runs the tests of a project runs these first; with them a program can make every
test pass. They are found by comparing the result with what went in.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from runners.workspace.changes import Change, changes
from runners.workspace.tree import Item, Tree

__all__ = ["Startup", "startup_files"]

Read = Callable[[str, Item], bytes]

ON_START = {
    "conftest.py": "pytest runs it before the tests",
    "sitecustomize.py": "Python runs it at every start",
    "usercustomize.py": "Python runs it at every start",
    "pytest.ini": "it configures pytest",
    ".pytest.ini": "it configures pytest",
    "pytest.toml": "it configures pytest",
    ".pytest.toml": "it configures pytest",
    "pyvenv.cfg": "it makes a folder an environment of Python",
    ".coveragerc": "it configures coverage, which can load plugins",
    ".coveragerc.toml": "it configures coverage, which can load plugins",
}
SHARED = frozenset({"tox.ini", "setup.cfg", "pyproject.toml"})
"""Files that configure the test tool beside other things."""

TOOLS = ("pytest", "coverage")
"""What a header or a table of those is about where it counts."""

PLAIN_HEADER = re.compile(r"\[[^][#;\x00-\x1f\x7f-\x9f\u2028\u2029]*\][ \t]*")
"""A line that every reader of such files takes for a header, and for the same one."""

TEST_TOOLS = frozenset(
    {
        "pytest",
        "_pytest",
        "pluggy",
        "iniconfig",
        "packaging",
        "py",
        "exceptiongroup",
        "tomli",
        "pygments",
        "nose",
        "nose2",
        "hypothesis",
        "coverage",
        "xdist",
    }
)
TAKEN = TEST_TOOLS | sys.stdlib_module_names


@dataclass(frozen=True, slots=True)
class Startup:
    """A start-up file that was added or changed, and why it counts as one."""

    path: str
    reason: str


def startup_files(before: Tree, after: Tree, read_before: Read, read_after: Read) -> list[Startup]:
    """The start-up files that the result has and the original has not, or not so.

    ``read_before`` and ``read_after`` give the content of small text files.
    """
    found = []
    for change in changes(before, after):
        if change.after is None:
            continue
        reason = why(change, after) or section(change, read_before, read_after)
        if reason:
            found.append(Startup(change.path, reason))
    return found


def why(change: Change, after: Tree) -> str | None:
    """Why the name of a changed file makes it a start-up file."""
    path = PurePosixPath(change.path)
    name = path.name.casefold()
    if name in ON_START:
        return ON_START[name]
    if name.endswith((".pth", "._pth")):
        return "Python runs the lines of path files at every start"
    if name == "entry_points.txt" and path.parent.suffix in (".dist-info", ".egg-info"):
        return "it can announce plugins that pytest loads"
    return shadow(path, after) if change.before is None else None


def shadow(path: PurePosixPath, after: Tree) -> str | None:
    """Why a new module would be imported in place of the test tool's or the library's own."""
    for module in (path, *path.parents[:-1]):
        stem = module.name.partition(".")[0]
        importable = module != path or path.suffix in (".py", ".pyc", ".so", ".pyd")
        if not importable or stem not in TAKEN or str(module.parent / "__init__.py") in after.items:
            continue
        if module == path or str(module / "__init__.py") == str(path):
            return f"it would be imported in place of {stem}"
    return None


def section(change: Change, read_before: Read, read_after: Read) -> str | None:
    """Why a configuration file counts: what it says about the test tool changed."""
    if PurePosixPath(change.path).name.casefold() not in SHARED or change.after is None:
        return None
    if change.after.kind != "file":
        return "it is a link where the test tool's configuration is"
    old: object = ([], None)
    if change.before is not None and change.before.kind == "file":
        old = said(change.path, read_before(change.path, change.before))
    new = said(change.path, read_after(change.path, change.after))
    return None if old == new else "its part about pytest changed"


def said(path: str, data: bytes) -> tuple[list[str], object]:
    """What a configuration file may say of the test tool, to any of its readers."""
    text = data.decode("utf-8", "replace")
    return lines_about(text), tables(text) if path.casefold().endswith(".toml") else None


def lines_about(text: str) -> list[str]:
    """The lines below headers that name the test tool, comments and all.

    Readers differ in what they take for a header and where a line ends: one cuts at a comment
    mark inside the brackets, one breaks lines at a form feed. So whatever may be such a header
    begins a part, and only a header that is one to all of them ends it.
    """
    lines = []
    within = False
    for line in re.split(r"\r\n|\r|\n", text):
        if PLAIN_HEADER.fullmatch(line):
            within = about(line)
        elif any(piece.lstrip(" \t\ufeff").startswith("[") for piece in line.splitlines()):
            within = within or about(line)
        if within and line.strip():
            lines.append(line)
    return lines


def about(line: str) -> bool:
    """Whether a line names the test tool."""
    return any(tool in line.casefold() for tool in TOOLS)


def tables(text: str) -> object:
    """What a TOML file says of the test tool, however its tables are written."""
    try:
        tool = tomllib.loads(text).get("tool", {})
    except (tomllib.TOMLDecodeError, RecursionError):
        return text if about(text) else None
    if not isinstance(tool, dict):
        return None
    return {name: tool[name] for name in TOOLS if name in tool} or None
