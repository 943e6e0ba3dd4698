"""What is asked to run: a Command, or a Plan of pipelines.

Plain data, no behaviour: the parser of command lines makes these, the policy judges them and
a session runs them. Paths are texts relative to the command's ``cwd`` or absolute paths in the box.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = [
    "Cd",
    "Command",
    "FromFile",
    "FromText",
    "Link",
    "NullDevice",
    "Pipeline",
    "Plan",
    "Stage",
    "ToFile",
    "ToStdout",
]


Link = Literal["&&", "||", ";"]


@dataclass(frozen=True, slots=True)
class FromFile:
    """Standard input comes from a workspace file."""

    path: str


@dataclass(frozen=True, slots=True)
class FromText:
    """Standard input is this data (a heredoc, or the text of a call)."""

    data: bytes


@dataclass(frozen=True, slots=True)
class NullDevice:
    """The null device, for reading or writing."""


@dataclass(frozen=True, slots=True)
class ToFile:
    """Output goes to a workspace file, truncated or appended to."""

    path: str
    append: bool = False


@dataclass(frozen=True, slots=True)
class ToStdout:
    """Standard error joins standard output (``2>&1``)."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One program of a pipeline.

    ``None`` for a stream means: the pipe to the neighbour, else the captured output of the call
    (standard input of a first stage: the null device).

    ``globs`` are the indexes of words of argv that are shell patterns (unquoted in the line, a
    literal ``*`` within them written ``[*]``); all other words are literal.
    """

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    stdin: FromFile | FromText | NullDevice | None = None
    stdout: ToFile | NullDevice | None = None
    stderr: ToFile | NullDevice | ToStdout | None = None
    globs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages joined by pipes, all started together; the last one's code counts."""

    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class Cd:
    """Changes the folder of what follows in a plan; a failed one ends the plan."""

    path: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Pipelines (or Cd) joined by links: ``len(links) == len(steps) - 1``."""

    steps: tuple[Pipeline | Cd, ...]
    links: tuple[Link, ...] = ()
    cwd: str = "."


@dataclass(frozen=True, slots=True)
class Command:
    """One argument vector.

    Attributes:
        argv: the words; argv[0] names the program.
        cwd: the folder it starts in, relative to the workspace root or absolute in the box.
        stdin: bytes for standard input; None is the null device.
        env: leading ``NAME=value`` assignments, judged by the rule's ``env``.
    """

    argv: tuple[str, ...]
    cwd: str = "."
    stdin: bytes | None = None
    env: tuple[tuple[str, str], ...] = field(default=())

    def plan(self) -> Plan:
        """This command as a plan of one stage."""
        stdin = None if self.stdin is None else FromText(self.stdin)
        return Plan((Pipeline((Stage(self.argv, self.env, stdin),)),), (), self.cwd)
