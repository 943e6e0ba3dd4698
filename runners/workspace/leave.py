"""What stays on the operator's side, by rule: decision 13, `.stockadeignore`, `--include`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from runners.supervisor.fault import Refusal
from runners.supervisor.files import open_regular, read_range
from runners.workspace.ignore import Ignore
from runners.workspace.name import to_text
from runners.workspace.secret import MAX_PEEK, secret_name

__all__ = ["IGNORE_FILE", "Rules"]

IGNORE_FILE = ".stockadeignore"
INSTALLED = frozenset({".venv", "node_modules"})
# What test runs leave behind: never worth a line in a patch, and a way to smuggle code past one
# (Python runs a matching .pyc without looking at its source).
BY_PRODUCTS = frozenset(
    {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".coverage"}
)


Verdict = tuple[bool, str | None]
"""Whether it is settled, and the reason why a path does not come out, if it does not."""

UNDECIDED: Verdict = (False, None)


class Rules:
    """Says of a path whether it travels, and if not, why."""

    def __init__(self, ignored: Sequence[str] = (), include: Sequence[str] = ()) -> None:
        self.ignore = Ignore(ignored)
        self.include = Ignore(include)
        self.folders: dict[str, Verdict] = {}

    @classmethod
    def of(cls, source: Path, include: Sequence[str] = ()) -> Rules:
        """The rules for a folder: its ignore file is read once, as it is now."""
        return cls(ignore_lines(source), include)

    def included(self, path: str, *, folder: bool) -> bool:
        """Whether the operator asked for this very path."""
        return self.include.decides(path, folder=folder) is True

    def reason(self, path: str, *, folder: bool) -> str | None:
        """Why a path stays behind by its name, or None. ``.stockade`` stays always."""
        name = path.rpartition("/")[2]
        if name == ".stockade":
            return "what stockade itself keeps"
        if self.included(path, folder=folder):
            return None
        if self.ignore.decides(path, folder=folder):
            return f"listed in {IGNORE_FILE}"
        return installed(name) or secret_name(path)

    def stays_in_box(self, path: str) -> str | None:
        """Why a path that a program made does not come out: its own name, or a folder's above."""
        above = path.rpartition("/")[0]
        decided, reason = self.below(above) if above else UNDECIDED
        return reason if decided else self.itself(path, folder=False)[1]

    def below(self, folder: str) -> Verdict:
        """What holds for everything below a folder, worked out once."""
        found = self.folders.get(folder)
        if found is None:
            above = folder.rpartition("/")[0]
            found = self.below(above) if above else UNDECIDED
            if not found[0]:
                found = self.itself(folder, folder=True)
            self.folders[folder] = found
        return found

    def itself(self, path: str, *, folder: bool) -> Verdict:
        """What holds for a path by its own name, whatever it lies in."""
        name = path.rpartition("/")[2]
        if self.included(path, folder=folder):
            return True, None
        if name in BY_PRODUCTS or name.endswith((".pyc", ".pyo")):
            return True, "a by-product of running programs"
        if self.ignore.decides(path, folder=folder):
            return True, f"listed in {IGNORE_FILE}"
        reason = installed(name)
        return reason is not None, reason


def installed(name: str) -> str | None:
    """Why a folder of installed packages stays behind."""
    return "installed packages, not source" if name in INSTALLED else None


def ignore_lines(source: Path) -> list[str]:
    """The lines of a folder's ignore file; none when it is no plain file."""
    root = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        descriptor, _ = open_regular(root, IGNORE_FILE.encode())
        try:
            return to_text(read_range(descriptor, 0, MAX_PEEK)).splitlines()
        finally:
            os.close(descriptor)
    except Refusal:
        return []
    finally:
        os.close(root)
