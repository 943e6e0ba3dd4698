"""What a policy says of a command: a Decision with its reason and its conditions."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, fields, make_dataclass
from typing import Literal

from policies.limits import Isolation, Limits

__all__ = ["PROTECTED", "Conditions", "Decision", "PathCheck", "Verdict"]


class Decision(enum.IntEnum):
    """Ordered: the strictest of several is their maximum."""

    ALLOW = 0
    ASK = 1
    DENY = 2

    @property
    def label(self) -> str:
        """The lower-case name, as files and reports write it."""
        return self.name.lower()


PROTECTED: tuple[str, ...] = (
    ".git",
    ".hg",
    ".svn",
    ".stockade",
    ".github/workflows",
    ".husky",
    ".vscode",
    ".idea",
)
"""Places whose files other programs trust or run: no program may change them."""


@dataclass(frozen=True, slots=True)
class PathCheck:
    """A path operand that was judged as text and is to be judged again on the real path.

    Attributes:
        word: index of the word in argv (-1: a redirection).
        path: the text, relative to the command's cwd, or absolute in the box.
        kind: what it must be at run time; ``path`` may be absent.
        writable: the program may create, change or remove it.
        root: the workspace, or the name of another root that the path lies below.
    """

    word: int
    path: str
    kind: Literal["path", "file", "dir"] = "path"
    writable: bool = False
    root: str = "workspace"


@dataclass(frozen=True, slots=True)
class Conditions:
    """Under which an allowed command runs; of several rules the strictest each (spec 7.5)."""

    isolation: Isolation = Isolation.PROCESS
    limits: Limits = Limits()
    network: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()  # forced values (`set_env`, `[program.X] env`)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on one argv.

    Attributes:
        decision: allow, ask or deny.
        reason: a stable reason code of the specification, section 7 (``ok`` when allowed).
        word: index of the word at fault or -1.
        message: one sentence for people and for the model.
        rule: name of the deciding rule, or of the nearest miss for a denial, or None.
        line: the synopsis line that decided or came nearest, or None.
        runs_code: the program may run code that the agent wrote.
        program: argv[0] as the name under which its identity is resolved.
        search: folders to resolve it in, in order.
        conditions: how it must run.
        checks: the paths to verify in the box before the program starts.
        stages: for a plan, the verdict of each stage in order; empty for a single command.
        stage: for a plan, the index of the stage at fault.
        step: for a plan, the index of its step (pipeline or Cd) at fault.
        paths: real paths that resolving the program may give; empty: any.
        sha256: digest that the resolved file must have, or "".
    """

    decision: Decision
    reason: str
    word: int = -1
    message: str = ""
    rule: str | None = None
    line: str | None = None
    runs_code: bool = False
    program: str = ""
    search: tuple[str, ...] = ()
    conditions: Conditions = Conditions()
    checks: tuple[PathCheck, ...] = ()
    stages: tuple[Verdict, ...] = field(default=())
    stage: int = 0
    step: int = 0
    paths: tuple[str, ...] = ()
    sha256: str = ""


def opened(kind: type) -> type:
    """A class with the same fields whose instances can still be written to.

    A frozen dataclass sets each field through ``object.__setattr__``, which is a good part of the
    time that a judgement takes. So the hot path fills an open instance and then closes it by
    changing its class: both have the same slots.
    """
    names = [(f.name, f.type, field(default=f.default)) for f in fields(kind) if f.init]
    return make_dataclass(f"Open{kind.__name__}", names, slots=True)


OpenVerdict = opened(Verdict)
OpenPathCheck = opened(PathCheck)


def fast_verdict(*values: object) -> Verdict:
    """``Verdict(*values)``, faster."""
    made: Verdict = OpenVerdict(*values)
    made.__class__ = Verdict
    return made


def with_checks(pattern: Verdict, checks: tuple[PathCheck, ...]) -> Verdict:
    """``replace(pattern, checks=checks)`` of a verdict on a single command, faster."""
    made: Verdict = OpenVerdict(
        pattern.decision,
        pattern.reason,
        pattern.word,
        pattern.message,
        pattern.rule,
        pattern.line,
        pattern.runs_code,
        pattern.program,
        pattern.search,
        pattern.conditions,
        checks,
        (),
        0,
        0,
        pattern.paths,
        pattern.sha256,
    )
    made.__class__ = Verdict
    return made


def fast_path_check(word: int, path: str, kind: str, writable: bool, root: str) -> PathCheck:  # noqa: FBT001
    """``PathCheck(...)``, faster."""
    made: PathCheck = OpenPathCheck(word, path, kind, writable, root)
    made.__class__ = PathCheck
    return made
