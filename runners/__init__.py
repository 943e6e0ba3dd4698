"""HOW it runs: the contract of boxes, the supervisor inside them and its client.

The contract is imported at once; boxes when they are first used, because a command line that
needs one box should not pay for the libraries of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runners.contract import ROOTS, OnOutput, PathFault, Probe, Root, Runner, Session, SessionSpec
from runners.errors import (
    LostError,
    ProtocolError,
    RunnerError,
    StartError,
    UnavailableError,
    UnresolvedError,
    WorkspaceError,
)

if TYPE_CHECKING:
    from runners.bubblewrap import BubblewrapRunner
    from runners.choice import all_runners, choose, probe_all
    from runners.docker import DockerRunner
    from runners.front import Front
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
    from runners.owner import Owner
    from runners.pool import Pool
    from runners.process import ProcessRunner
    from runners.scripted import ScriptedRun, ScriptedSession
    from runners.spill import Spill, Spilled

__all__ = [
    "ROOTS",
    "BubblewrapRunner",
    "Capture",
    "DockerRunner",
    "Ending",
    "Entry",
    "Fault",
    "FileData",
    "Found",
    "Front",
    "LimitHit",
    "Listing",
    "LostError",
    "Match",
    "OnOutput",
    "Outcome",
    "Owner",
    "PathFault",
    "Pool",
    "Probe",
    "ProcessRunner",
    "Program",
    "ProtocolError",
    "Root",
    "Runner",
    "RunnerError",
    "ScriptedRun",
    "ScriptedSession",
    "Session",
    "SessionSpec",
    "Spill",
    "Spilled",
    "StartError",
    "UnavailableError",
    "UnresolvedError",
    "WorkspaceError",
    "Written",
    "all_runners",
    "choose",
    "probe_all",
]

_LATER = {
    "BubblewrapRunner": "runners.bubblewrap",
    "Capture": "runners.outcome",
    "DockerRunner": "runners.docker",
    "Ending": "runners.outcome",
    "Entry": "runners.outcome",
    "Fault": "runners.outcome",
    "FileData": "runners.outcome",
    "Found": "runners.outcome",
    "Front": "runners.front",
    "LimitHit": "runners.outcome",
    "Listing": "runners.outcome",
    "Match": "runners.outcome",
    "Outcome": "runners.outcome",
    "Owner": "runners.owner",
    "Pool": "runners.pool",
    "ProcessRunner": "runners.process",
    "Program": "runners.outcome",
    "ScriptedRun": "runners.scripted",
    "ScriptedSession": "runners.scripted",
    "Spill": "runners.spill",
    "Spilled": "runners.spill",
    "Written": "runners.outcome",
    "all_runners": "runners.choice",
    "choose": "runners.choice",
    "probe_all": "runners.choice",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any of the names above
    if name not in _LATER:
        raise AttributeError(f"module 'runners' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LATER[name]), name)
