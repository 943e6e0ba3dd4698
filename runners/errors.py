"""The error tree of the runners.

    RunnerError (exit 3)            our machinery or the machine failed
    ├── UnavailableError            this box does not work here; says what is missing and the cure
    ├── StartError                  the supervisor did not start in its box
    ├── ProtocolError               what came out of a box was not a valid frame
    ├── LostError                   the box ended while a call was under way
    └── UnresolvedError             the box could not say which program or files a word means
    WorkspaceError (exit 2)         the operator's workspace cannot be copied as it is

What a program does wrong is never one of these: it is an Outcome or a Fault.
"""

from __future__ import annotations

__all__ = [
    "LostError",
    "ProtocolError",
    "RunnerError",
    "StartError",
    "UnavailableError",
    "UnresolvedError",
    "WorkspaceError",
]


class RunnerError(Exception):
    """Our machinery or the machine failed."""

    exit_code = 3


class UnavailableError(RunnerError):
    """A box that does not work here; the message says what is missing and the cure."""


class StartError(RunnerError):
    """The supervisor did not start in its box."""


class ProtocolError(RunnerError):
    """What came out of a box was not a valid frame; the session is closed."""


class LostError(RunnerError):
    """The box ended while somebody still needed it."""


class UnresolvedError(RunnerError):
    """The box could not say which program or files a word stands for; it goes on.

    Attributes:
        timed_out: the look took longer than a call may.
    """

    def __init__(self, message: str, *, timed_out: bool) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class WorkspaceError(Exception):
    """The operator's workspace cannot be used as it is (missing, too large, unreadable)."""

    exit_code = 2
