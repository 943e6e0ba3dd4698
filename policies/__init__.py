"""WHAT may run: commands, limits, verdicts, the policy language and its tools. Pure code."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from policies.commandline import LineError, parse_line
    from policies.loading import Diagnostic, PolicyFileError, load, profile_names
    from policies.policy import Policy

LAZY = {
    "Diagnostic": "policies.loading",
    "LineError": "policies.commandline",
    "Policy": "policies.policy",
    "PolicyFileError": "policies.loading",
    "load": "policies.loading",
    "parse_line": "policies.commandline",
    "profile_names": "policies.loading",
}
"""Parts of the face that are imported when first used, so that a command line starts fast."""


def __getattr__(name: str) -> object:
    """Import a part of the face on demand (PEP 562)."""
    module = LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(module), name)
    globals()[name] = value
    return value


__all__ = [
    "Budgets",
    "Cd",
    "Command",
    "Conditions",
    "Decision",
    "Diagnostic",
    "FromFile",
    "FromText",
    "Isolation",
    "Limits",
    "LineError",
    "Link",
    "NullDevice",
    "PathCheck",
    "Pipeline",
    "Plan",
    "Policy",
    "PolicyFileError",
    "Stage",
    "ToFile",
    "ToStdout",
    "Verdict",
    "load",
    "parse_line",
    "profile_names",
]
