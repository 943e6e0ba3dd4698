"""A session that answers from a script: for tests of what stands on the contract, and for replay.

It is no box: nothing is executed. Its files are kept in memory.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from policies import PROTECTED, Isolation, Limits, PathCheck, Pipeline
from runners.contract import ROOTS, OnOutput, PathFault, Root
from runners.errors import LostError
from runners.outcome import (
    Entry,
    Fault,
    FileData,
    Found,
    Listing,
    Match,
    Outcome,
    Program,
    Written,
)
from runners.workspace.protect import Protected

__all__ = ["ScriptedRun", "ScriptedSession"]


@dataclass(frozen=True, slots=True)
class ScriptedRun:
    """What a scripted session was asked to run."""

    pipeline: Pipeline
    cwd: str
    limits: Limits | None
    programs: tuple[str | None, ...]
    env: Mapping[str, str] = field(default_factory=dict)


Answer = Callable[[ScriptedRun], Outcome]


class ScriptedSession:
    """Answers recorded outcomes in order.

    Args:
        outcomes: one for each pipeline; asking for more raises LostError. Or a function that
            answers each.
        files: the workspace, by path.
        programs: real paths by name; a name that is not there does not exist. None: every name
            is found in /usr/bin.
        isolation: the level it claims.
        workspace: the path it claims for the workspace.
    """

    def __init__(
        self,
        outcomes: Sequence[Outcome] | Answer = (),
        *,
        files: Mapping[str, bytes | str] | None = None,
        programs: Mapping[str, str] | None = None,
        isolation: Isolation = Isolation.CONTAINER,
        workspace: str = "/workspace",
    ) -> None:
        self.id = "scripted"
        self.isolation = isolation
        self.image: Mapping[str, str] = {"name": "scripted"}
        self.paths: Mapping[Root, str] = {
            root: workspace if root == "workspace" else f"/{root}" for root in ROOTS
        }
        self.files: dict[str, bytes] = {
            path: data.encode() if isinstance(data, str) else data
            for path, data in (files or {}).items()
        }
        self.runs: list[ScriptedRun] = []
        self.closed = False
        self._outcomes = outcomes
        self._programs = programs

    async def resolve(self, name: str, search: Sequence[str]) -> Program | None:
        """The program by its scripted path."""
        if self._programs is None:
            path = f"/usr/bin/{name}"
            return Program(name, path, path) if search else None
        found = self._programs.get(name)
        return None if found is None else Program(name, found, found)

    async def check(
        self,
        checks: Sequence[PathCheck],
        cwd: str = ".",
        protect: Sequence[str] | None = None,
    ) -> Sequence[PathFault]:
        """Judge paths by their text and by the files in memory."""
        faults: list[PathFault] = []
        names = Protected(PROTECTED if protect is None else protect)
        for check in checks:
            path = self._path(check.path, cwd)
            if path is None:
                faults.append(
                    PathFault(check, "path-escape", f"{check.path}: leaves the workspace")
                )
            elif check.writable and names.name_of(path):
                faults.append(PathFault(check, "path-protected", f"{check.path}: is protected"))
            elif check.kind == "file" and path not in self.files:
                faults.append(PathFault(check, "value-type", f"{check.path}: is no file"))
            elif check.kind == "dir" and not self._is_folder(path):
                faults.append(PathFault(check, "value-type", f"{check.path}: is no folder"))
        return faults

    async def glob(self, pattern: str, cwd: str = ".", limit: int = 1000) -> Sequence[str]:
        """Names of files in memory that match."""
        folder = self._path(".", cwd)
        names = []
        for path in self.files:
            if folder is not None and (folder == "." or path.startswith(f"{folder}/")):
                name = path if folder == "." else path[len(folder) + 1 :]
                same_depth = name.count("/") == pattern.count("/")
                hidden = any(part.startswith(".") for part in name.split("/"))
                if same_depth and not hidden and fnmatch.fnmatchcase(name, pattern):
                    names.append(name)
        return sorted(names)[:limit]

    async def run(
        self,
        pipeline: Pipeline,
        *,
        cwd: str = ".",
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        programs: Sequence[str | None] = (),
        on_output: OnOutput | None = None,
    ) -> Outcome:
        """The next outcome of the script; redirections are not followed."""
        asked = ScriptedRun(pipeline, cwd, limits, tuple(programs), dict(env or {}))
        self.runs.append(asked)
        if callable(self._outcomes):
            outcome = self._outcomes(asked)
        elif len(self.runs) > len(self._outcomes):
            raise LostError(f"the script has {len(self._outcomes)} outcomes, and one more was run")
        else:
            outcome = self._outcomes[len(self.runs) - 1]
        if on_output is not None:
            if outcome.stdout.total:
                await on_output("stdout", outcome.stdout.data)
            if outcome.stderr.total:
                await on_output("stderr", outcome.stderr.data)
        return outcome

    async def read_file(
        self, path: str, *, root: Root = "workspace", offset: int = 0, limit: int = 1 << 20
    ) -> FileData | Fault:
        """A piece of a file in memory."""
        name = self._path(path, ".", root)
        if name is None:
            return Fault("path-escape", path, "leaves the workspace")
        data = self.files.get(name)
        if data is None:
            return self._no_file(path, name)
        return FileData(path, data[offset : offset + limit], offset, len(data), 0o644)

    async def write_file(
        self,
        path: str,
        data: bytes,
        *,
        root: Root = "workspace",
        mode: int | None = None,  # noqa: ARG002 - files in memory have none
        expect: bytes | None = None,
    ) -> Written | Fault:
        """Keep a file in memory."""
        name = self._path(path, ".", root)
        if name is None:
            return Fault("path-escape", path, "leaves the workspace")
        if self._is_folder(name):
            return Fault("not-a-file", path, "is a folder")
        old = self.files.get(name)
        if expect is not None and (old is None or sha256(old).digest() != expect):
            return Fault("changed", path, "was changed meanwhile")
        self.files[name] = data
        return Written(path, len(data), old is None)

    async def list_dir(
        self, path: str = ".", *, root: Root = "workspace", limit: int = 1000
    ) -> Listing | Fault:
        """Names of a folder in memory."""
        folder = self._path(path, ".", root)
        if folder is None:
            return Fault("path-escape", path, "leaves the workspace")
        if not self._is_folder(folder):
            return Fault("not-found", path, "no such folder")
        entries: dict[str, Entry] = {}
        for name, data in self._below(folder):
            first, slash, _ = name.partition("/")
            entries[first] = (
                Entry(first, "dir", 0, 0o755) if slash else Entry(first, "file", len(data), 0o644)
            )
        ordered = [entries[name] for name in sorted(entries)]
        return Listing(path, tuple(ordered[:limit]), len(ordered))

    async def find_files(
        self, pattern: str, path: str = ".", *, root: Root = "workspace", limit: int = 1000
    ) -> Found | Fault:
        """Paths in memory that match a glob with ``**``."""
        folder = self._path(path, ".", root)
        if folder is None:
            return Fault("path-escape", path, "leaves the workspace")
        wanted = _glob_expression(pattern)
        found = sorted(name for name, _ in self._below(folder) if wanted.fullmatch(name))
        shown = tuple(name if folder == "." else f"{folder}/{name}" for name in found[:limit])
        return Found(shown, len(found) <= limit)

    async def search_text(
        self,
        pattern: str,
        path: str = ".",
        *,
        regex: bool = False,
        glob: str = "**",
        root: Root = "workspace",
        limit: int = 200,
    ) -> Sequence[Match] | Fault:
        """Lines in memory that match."""
        folder = self._path(path, ".", root)
        if folder is None:
            return Fault("path-escape", path, "leaves the workspace")
        wanted = re.compile(pattern if regex else re.escape(pattern))
        names = _glob_expression(glob)
        found: list[Match] = []
        for name, data in sorted(self._below(folder)):
            if not names.fullmatch(name):
                continue
            for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
                if wanted.search(line):
                    shown = name if folder == "." else f"{folder}/{name}"
                    found.append(Match(shown, number, line[:500]))
        return tuple(found[:limit])

    async def put_tree(self, tar: Path, *, root: Root = "workspace") -> None:
        """Not part of a script."""
        raise LostError(f"a scripted session has no archives: {tar} into {root}")

    async def get_tree(self, tar: Path, *, root: Root = "workspace", limit_mib: int = 512) -> None:
        """Not part of a script."""
        raise LostError(f"a scripted session has no archives: {root} into {tar} ({limit_mib} MiB)")

    async def close(self) -> None:
        """Nothing runs."""
        self.closed = True

    def _path(self, path: str, cwd: str, root: Root = "workspace") -> str | None:
        """A path as the key of a file, or None when it leaves its root."""
        top = self.paths[root]
        full = posixpath.normpath(posixpath.join(top, cwd, path))
        if full == top:
            return "."
        return full[len(top) + 1 :] if full.startswith(top + "/") else None

    def _is_folder(self, name: str) -> bool:
        return name == "." or any(path.startswith(f"{name}/") for path in self.files)

    def _below(self, folder: str) -> list[tuple[str, bytes]]:
        if folder == ".":
            return list(self.files.items())
        prefix = f"{folder}/"
        return [(p[len(prefix) :], d) for p, d in self.files.items() if p.startswith(prefix)]

    def _no_file(self, path: str, name: str) -> Fault:
        if self._is_folder(name):
            return Fault("not-a-file", path, "is a folder")
        return Fault("not-found", path, "no such file")


def _glob_expression(pattern: str) -> re.Pattern[str]:
    """A glob in which ``**`` stands for any number of folders."""
    made = ""
    for part in re.split(r"(\*\*/|\*\*|\*|\?)", pattern):
        made += {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(
            part, re.escape(part)
        )
    return re.compile(made, re.DOTALL)
