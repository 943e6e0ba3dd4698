"""Which program an argv[0] stands for: a bare name, a path on the fixed PATH, a workspace file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from policies.matching.fault import Miss
from policies.rule import Program
from policies.shelf import Shelf
from policies.values.paths import resolved
from policies.values.value import Place

__all__ = ["FIXED_PATH", "Identity", "Named"]

FIXED_PATH: tuple[str, ...] = (
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
)
"""Where bare names are looked up inside the box, whatever the environment says."""

ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """What a session needs to resolve a program."""

    program: str
    search: tuple[str, ...] = FIXED_PATH
    env: tuple[tuple[str, str], ...] = ()
    paths: tuple[str, ...] = ()
    sha256: str = ""


class Identity:
    """The names of a policy's programs."""

    def __init__(self, programs: Mapping[str, Program]) -> None:
        self.by_name: dict[str, Program] = {}
        self.in_workspace: dict[tuple[str, ...], Program] = {}
        for program in programs.values():
            for name in (program.name, *program.also):
                self.by_name[name] = program
            for path in program.workspace:
                self.in_workspace[tuple(p for p in path.split("/") if p not in ("", "."))] = program
        self.cache: dict[str, Named] = {}

    def named(self, word: str) -> Named:
        """The identity of an argv[0] that was accepted."""
        named = self.cache.get(word)
        if named is None:
            named = self.look_up(word)
            if len(self.cache) < 1024:
                self.cache[word] = named
        return named

    def look_up(self, word: str) -> Named:
        """The identity of an argv[0], worked out."""
        folder, slash, name = word.rpartition("/")
        program = self.by_name.get(name)
        if slash and folder not in self.folders(program):
            parts = tuple(p for p in word.split("/") if p not in ("", "."))
            return Named(word, (), program.env if program and parts in self.in_workspace else ())
        search = (folder,) if slash else self.folders(program)
        if program is None:
            return Named(name, search)
        return Named(name, search, program.env, program.paths, program.sha256)

    def folders(self, program: Program | None) -> tuple[str, ...]:
        """Where a program is searched."""
        return program.search if program is not None else FIXED_PATH

    def shelf(
        self, word: str, place: Place, shelves: Mapping[str, Shelf]
    ) -> tuple[Shelf | None, Miss | None]:
        """The lines for an argv[0] that is not simply the name of a shelf."""
        if "/" not in word:
            if ASSIGNMENT.match(word):
                return None, Miss("env-leading", 0)
            return None, Miss("no-program", 0)
        folder, _, name = word.rpartition("/")
        if folder in self.folders(self.by_name.get(name)):
            shelf = shelves.get(name)
            return shelf, None if shelf is not None else Miss("no-program", 0)
        parts = resolved(word, place)
        program = self.in_workspace.get(parts) if parts else None
        if program is not None and program.name in shelves:
            return shelves[program.name], None
        if word.startswith("./") and "./" in shelves:
            return shelves["./"], None
        return None, Miss("program-path", 0)
