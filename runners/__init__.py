"""HOW it runs: the contract of boxes, the supervisor inside them and its client."""

from runners.contract import ROOTS, OnOutput, PathFault, Probe, Root, Runner, Session, SessionSpec
from runners.errors import (
    LostError,
    ProtocolError,
    RunnerError,
    StartError,
    UnavailableError,
    WorkspaceError,
)
from runners.outcome import (
    Capture,
    Ending,
    Entry,
    Fault,
    FileData,
    Found,
    LimitHit,
    Listing,
    Match,
    Outcome,
    Program,
    Written,
)

__all__ = [
    "ROOTS",
    "Capture",
    "Ending",
    "Entry",
    "Fault",
    "FileData",
    "Found",
    "LimitHit",
    "Listing",
    "LostError",
    "Match",
    "OnOutput",
    "Outcome",
    "PathFault",
    "Probe",
    "Program",
    "ProtocolError",
    "Root",
    "Runner",
    "RunnerError",
    "Session",
    "SessionSpec",
    "StartError",
    "UnavailableError",
    "WorkspaceError",
    "Written",
]
