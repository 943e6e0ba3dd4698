"""Prepares the copy of a result that is verified: the task's own tests, no planted start-up files.

Works on a folder of ours on the host, into which a strict reader unpacked what came out of the
box: regular files, folders and links that stay inside. Links are never followed.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from harness.task import Check
from harness.verify.verification import Finding

HOME = re.compile(r"(?:.*_)?tests?|testing")
"""Names of folders that hold tests and nothing that is under test."""

__all__ = ["leave_out", "restore_tests", "test_homes"]


def leave_out(
    found: Iterable[tuple[str, str]], check: Check, original: Path | None, result: Path
) -> tuple[Finding, ...]:
    """Take planted start-up files out of the result, or put the original ones back.

    The strong form leaves all of them out; with ``tests/test.sh`` the task decides, and what
    stays is reported.
    """
    findings = []
    for path, reason in found:
        out = bool(check.argv) or wanted_out(path, check.left_out)
        if out:
            put_back(path, original, result)
        findings.append(Finding(path, reason, out))
    return tuple(findings)


def wanted_out(path: str, left_out: bool | Sequence[str]) -> bool:  # noqa: FBT001
    """Whether the task wants this file left out."""
    if isinstance(left_out, bool):
        return left_out
    name = PurePosixPath(path).name
    return any(fnmatchcase(path, pattern) or fnmatchcase(name, pattern) for pattern in left_out)


def put_back(path: str, original: Path | None, result: Path) -> None:
    """The original's file (or folder) in the place of the result's, or nothing there at all."""
    target = clear(path, result)
    source = original / path if original else None
    if source is None or source.is_symlink():
        return
    if source.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target, symlinks=True)
    elif source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(source.stat().st_mode & 0o777 | 0o600)


def clear(path: str, result: Path) -> Path:
    """Make a path free: what is there goes, and so does what stands in the place of a parent."""
    target = result
    parts = PurePosixPath(path).parts
    for part in parts[:-1]:
        target = target / part
        if target.is_symlink() or target.is_file():
            target.unlink()
    target = target / parts[-1]
    if target.is_symlink() or target.is_file():
        target.unlink()
    elif target.is_dir():
        shutil.rmtree(target)
    return target


def test_homes(check: Check, tests: Path | None) -> tuple[str, ...]:
    """Files and folders of the workspace that hold wanted tests which the task does not bring.

    A test below a folder of tests brings that whole folder, helpers and data included; one that
    lies among the code only itself.
    """
    homes = set()
    for test in check.tests:
        file = test.partition("::")[0]
        if tests is not None and (tests / file).is_file():
            continue
        homes.add(home(PurePosixPath(file)))
    return tuple(sorted(homes))


def home(file: PurePosixPath) -> str:
    """The outermost folder of tests that a test file lies in, or the file itself."""
    for folder in reversed(file.parents[:-1]):
        if HOME.fullmatch(folder.name):
            return str(folder)
    return str(file)


def restore_tests(homes: Iterable[str], original: Path | None, result: Path) -> None:
    """The original's tests, whole: what was edited, added or removed there does not count."""
    for home in homes:
        put_back(home, original, result)
