"""WHAT may run: commands, limits, verdicts, the policy language and its tools. Pure code."""

from policies.command import (
    Cd,
    Command,
    FromFile,
    FromText,
    Link,
    NullDevice,
    Pipeline,
    Plan,
    Stage,
    ToFile,
    ToStdout,
)
from policies.limits import Budgets, Isolation, Limits
from policies.verdict import Conditions, Decision, PathCheck, Verdict

__all__ = [
    "Budgets",
    "Cd",
    "Command",
    "Conditions",
    "Decision",
    "FromFile",
    "FromText",
    "Isolation",
    "Limits",
    "Link",
    "NullDevice",
    "PathCheck",
    "Pipeline",
    "Plan",
    "Stage",
    "ToFile",
    "ToStdout",
    "Verdict",
]
