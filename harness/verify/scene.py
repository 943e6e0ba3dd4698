"""Prepares the copy of a result for verification: own tests in place, planted files out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from harness.task import Check
from harness.verify.verification import Finding
from runners.workspace import CopiedIn, CopiedOut, Item, restore, startup_files

__all__ = ["Scene", "set_scene", "test_homes"]

HOME = re.compile(r"(?:.*_)?tests?|testing")
"""Names of folders that hold tests and nothing that is under test."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A result, ready to be verified.

    Attributes:
        result: the copy of the result, with the task's own tests in their places.
        tests: the task's tests folder, or None.
        homes: paths in the workspace that were restored, because wanted tests lie there.
        findings: start-up files that the agent added or changed.
    """

    result: Path
    tests: Path | None
    homes: tuple[str, ...]
    findings: tuple[Finding, ...]


def set_scene(check: Check, tests: Path | None, copied: CopiedIn, out: CopiedOut) -> Scene:
    """Prepare the result's folder, in place: its patch is made already.

    The strong form leaves all planted start-up files out; with ``tests/test.sh`` the task
    decides, and what stays is reported. Tests that lie in the workspace are as they went in:
    what was edited, added or removed there does not count.
    """
    findings = tuple(
        Finding(found.path, found.reason, bool(check.argv) or wanted_out(found.path, check))
        for found in startup_files(copied.tree, out.tree, reader(copied), reader(out))
    )
    homes = test_homes(check, tests) if check.argv else ()
    paths = {finding.path for finding in findings if finding.left_out}
    for home in homes:
        paths |= below(home, [*copied.tree.items, *out.tree.items])
    restore(copied, out, paths)
    return Scene(out.folder, tests, homes, findings)


def reader(side: CopiedIn | CopiedOut) -> Callable[[str, Item], bytes]:
    """How to read a small file of one side, whole."""
    return lambda path, item: b"".join(side.content(path, item))


def wanted_out(path: str, check: Check) -> bool:
    """Whether the task wants this file left out."""
    if isinstance(check.left_out, bool):
        return check.left_out
    return matches(path, check.left_out)


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Whether a path, or its name alone, is meant by a pattern."""
    name = PurePosixPath(path).name
    return any(fnmatchcase(path, pattern) or fnmatchcase(name, pattern) for pattern in patterns)


def below(home: str, paths: Iterable[str]) -> set[str]:
    """A path, what lies below it, and what lies above it, where something else may stand now."""
    above = {str(parent) for parent in PurePosixPath(home).parents}
    return {path for path in paths if path == home or path.startswith(f"{home}/") or path in above}


def test_homes(check: Check, tests: Path | None) -> tuple[str, ...]:
    """Files and folders of the workspace that hold wanted tests which the task does not bring.

    A test below a folder of tests brings that whole folder, helpers and data included; one that
    lies among the code only itself.
    """
    homes = set()
    for test in check.tests:
        file = test.partition("::")[0]
        if tests is None or not (tests / file).is_file():
            homes.add(home_of(PurePosixPath(file)))
    return tuple(sorted(homes))


def home_of(file: PurePosixPath) -> str:
    """The outermost folder of tests that a test file lies in, or the file itself."""
    for folder in reversed(file.parents[:-1]):
        if HOME.fullmatch(folder.name):
            return str(folder)
    return str(file)
