"""Rules as they are judged: what a rule's lines have in common, and one entry a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from policies.matching.line import CompiledLine
from policies.matching.loose import LooseLine
from policies.values.value import ValueType
from policies.verdict import Conditions, Decision

__all__ = ["Ban", "Entry", "Gate", "Program", "Rule", "Waiting"]


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """The fields that all lines of a rule share.

    Attributes:
        name: unique in the policy.
        reason: the author's words for a person or the model.
        runs_code: the programs may run code that the agent wrote.
        conditions: how its commands run, the policy's own conditions included.
        env: variables that a leading ``NAME=value`` may set.
        cwd: folders below which it may start; empty: everywhere in the workspace.
        stdin: a stage may be fed by a pipe, a file or a text.
        redirect: which redirections its stages may have; None: the policy's.
        max_words: most words of a command.
        origin: the file it was read from.
        gated: some of the fields above can refuse a command whose line holds.
    """

    name: str
    reason: str = ""
    runs_code: bool = False
    conditions: Conditions = Conditions()
    env: tuple[tuple[str, ValueType], ...] = ()
    cwd: tuple[str, ...] = ()
    stdin: bool = True
    redirect: frozenset[str] | None = None
    max_words: int = 4096
    origin: str = ""
    gated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One allow or ask line of a rule, or one deny line."""

    rule: Rule
    decision: Decision
    line: CompiledLine
    number: int


class Waiting:
    """A line of a built-in profile, compiled when a command first needs it.

    The profiles' lines and examples are proved by this project's own tests, so loading one need
    not pay for all of them.
    """

    __slots__ = ("compile", "entry", "number", "program", "rule")

    def __init__(
        self, program: str, rule: Rule, number: int, compiled: Callable[[], Entry]
    ) -> None:
        self.program = program
        self.rule = rule
        self.number = number
        self.compile = compiled
        self.entry: Entry | None = None

    def now(self) -> Entry:
        """The compiled line."""
        if self.entry is None:
            self.entry = self.compile()
        return self.entry


@dataclass(frozen=True, slots=True, eq=False)
class Ban:
    """One deny line of a rule."""

    rule: Rule
    line: LooseLine


@dataclass(frozen=True, slots=True)
class Gate:
    """What stands around an argv: assignments, redirections, and whether it is fed."""

    env: tuple[tuple[str, str], ...] = ()
    redirects: frozenset[str] = frozenset()
    fed: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """``[program.X]``: the identity of a program.

    Attributes:
        name: its own name.
        search: folders in which its name is looked up, in order.
        paths: real paths that the look-up may give; empty: any.
        sha256: digest of the file, or "".
        also: other names of the same program.
        workspace: paths in the workspace that are this program.
        env: variables forced at every start.
    """

    name: str
    search: tuple[str, ...]
    paths: tuple[str, ...] = ()
    sha256: str = ""
    also: tuple[str, ...] = ()
    workspace: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
