"""How the process box can be held on this machine: a pure decision, and the facts it rests on."""

from __future__ import annotations

import ctypes
import enum
from dataclasses import dataclass

from policies import Isolation
from runners.namespaces import KernelSettings, Refusal, explain

__all__ = ["Facts", "Way", "decide", "landlock_abi"]

SYS_LANDLOCK_CREATE_RULESET = 444  # the same number on every architecture
LANDLOCK_CREATE_RULESET_VERSION = 1
SIGNAL_SCOPE_ABI = 6
LAUNCHER = "the process box's launcher"


class Way(enum.Enum):
    """What holds a program, strongest first."""

    NAMESPACES = "namespaces"
    OWN_UID = "own uid"
    LANDLOCK = "landlock"

    @property
    def isolation(self) -> Isolation:
        """The level that it gives."""
        return Isolation.NAMESPACE if self is Way.NAMESPACES else Isolation.PROCESS


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found.

    Attributes:
        root: the harness runs as root.
        words: what the launcher said when it could not make namespaces; "" when it could.
        landlock: the kernel's Landlock ABI; 0 without Landlock.
        settings: what the kernel says of user namespaces.
        proc: /proc is mounted, so that the descendants of a call can be found.
    """

    root: bool
    words: str
    landlock: int
    settings: KernelSettings = KernelSettings()
    proc: bool = True


def decide(facts: Facts) -> Way | Refusal:
    """The strongest way; a refusal where what a call started could outlive it.

    Without a PID namespace only two things keep a program from killing its supervisor, and so
    from escaping the end of its call: a uid of its own, or Landlock's scope for signals.
    """
    if not facts.words:
        return Way.NAMESPACES
    why = explain(facts.words, facts.settings, program=LAUNCHER)
    if facts.landlock == 0:
        return Refusal(
            f"{why.reason}, and this kernel has no Landlock to keep programs from the host's files",
            f"{why.cure}; or use another box",
        )
    if facts.root:
        return Way.OWN_UID
    if not facts.proc:
        return Refusal(
            f"{why.reason}, and without /proc what a call started cannot be found again",
            f"{why.cure}; or mount /proc",
        )
    if facts.landlock >= SIGNAL_SCOPE_ABI:
        return Way.LANDLOCK
    return Refusal(
        f"{why.reason}, and Landlock is too old here (ABI {facts.landlock}, {SIGNAL_SCOPE_ABI} is "
        "needed) to keep a program from killing its supervisor",
        f"{why.cure}; or Linux 6.12, or start the harness as root, or use another box",
    )


def landlock_abi() -> int:
    """The kernel's Landlock ABI, 0 where it has none or a profile forbids it."""
    libc = ctypes.CDLL(None, use_errno=True)
    answer = libc.syscall(SYS_LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_CREATE_RULESET_VERSION)
    return max(0, int(answer))
