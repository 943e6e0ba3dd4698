"""REV, REF, BRANCH and REMOTE: what git reads as a revision, a name or a configured remote."""

from __future__ import annotations

import re

from policies.values.value import Place

__all__ = ["ref_check", "remote_check", "rev_check"]

REV = re.compile(r"(?:[A-Za-z0-9_@]|:[A-Za-z0-9_])[A-Za-z0-9_@./^~{}:+-]*")
REMOTE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
NOT_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")
LONGEST = 255


def rev_check(word: str, place: Place) -> str | None:  # noqa: ARG001
    """A revision or a range of them; never an option, a URL or a path upwards."""
    if not word:
        return "empty-word"
    if len(word) > LONGEST or REV.fullmatch(word) is None or "//" in word:
        return "value-type"
    parts = word.split("/")
    if any(part.endswith(".lock") for part in parts):
        return "value-type"
    return "path-escape" if ".." in parts else None


def ref_check(word: str, place: Place) -> str | None:  # noqa: ARG001
    """A ref name by git's own rules, without a leading dash or plus."""
    if not word:
        return "empty-word"
    if len(word) > LONGEST or word[0] in "-+" or word == "@" or NOT_IN_REF.search(word):
        return "value-type"
    parts = word.split("/")
    if any(not part or part[0] == "." or part.endswith((".lock", ".")) for part in parts):
        return "value-type"
    return None if word.isprintable() else "control-char"


def remote_check(word: str, place: Place) -> str | None:  # noqa: ARG001
    """The name of a configured remote, never a URL: ``ext::`` URLs run commands."""
    if not word:
        return "empty-word"
    return "value-type" if len(word) > LONGEST or REMOTE.fullmatch(word) is None else None
