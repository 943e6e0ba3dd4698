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
from policies.verdict import PROTECTED, Conditions, Decision, PathCheck, Verdict

if TYPE_CHECKING:
    from policies.authoring import (
        Coverage,
        Difference,
        Edit,
        Explanation,
        FixtureResult,
        LintFinding,
        Nearest,
        Recorded,
        ShownLine,
        answer_request,
        compare_policies,
        cover,
        explain_command,
        format_policy,
        junit_report,
        lint_policy,
        policy_schema,
        read_records,
        run_fixtures,
        sarif,
        show_lines,
        suggest,
    )
    from policies.commandline import LineError, parse_line
    from policies.importing import Imported, Loss, import_policy
    from policies.loading import (
        Diagnostic,
        Loaded,
        PolicyFileError,
        compile_layers,
        load,
        profile_names,
    )
    from policies.policy import Policy
    from policies.regular import read_regular

LAZY = {
    "Coverage": "policies.authoring",
    "Diagnostic": "policies.loading",
    "Difference": "policies.authoring",
    "Edit": "policies.authoring",
    "Explanation": "policies.authoring",
    "FixtureResult": "policies.authoring",
    "Imported": "policies.importing",
    "LineError": "policies.commandline",
    "LintFinding": "policies.authoring",
    "Loaded": "policies.loading",
    "Loss": "policies.importing",
    "Nearest": "policies.authoring",
    "Policy": "policies.policy",
    "PolicyFileError": "policies.loading",
    "Recorded": "policies.authoring",
    "ShownLine": "policies.authoring",
    "answer_request": "policies.authoring",
    "compare_policies": "policies.authoring",
    "compile_layers": "policies.loading",
    "cover": "policies.authoring",
    "explain_command": "policies.authoring",
    "format_policy": "policies.authoring",
    "import_policy": "policies.importing",
    "junit_report": "policies.authoring",
    "lint_policy": "policies.authoring",
    "load": "policies.loading",
    "parse_line": "policies.commandline",
    "policy_schema": "policies.authoring",
    "profile_names": "policies.loading",
    "read_records": "policies.authoring",
    "read_regular": "policies.regular",
    "run_fixtures": "policies.authoring",
    "sarif": "policies.authoring",
    "show_lines": "policies.authoring",
    "suggest": "policies.authoring",
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
    "PROTECTED",
    "Budgets",
    "Cd",
    "Command",
    "Conditions",
    "Coverage",
    "Decision",
    "Diagnostic",
    "Difference",
    "Edit",
    "Explanation",
    "FixtureResult",
    "FromFile",
    "FromText",
    "Imported",
    "Isolation",
    "Limits",
    "LineError",
    "Link",
    "LintFinding",
    "Loaded",
    "Loss",
    "Nearest",
    "NullDevice",
    "PathCheck",
    "Pipeline",
    "Plan",
    "Policy",
    "PolicyFileError",
    "Recorded",
    "ShownLine",
    "Stage",
    "ToFile",
    "ToStdout",
    "Verdict",
    "answer_request",
    "compare_policies",
    "compile_layers",
    "cover",
    "explain_command",
    "format_policy",
    "import_policy",
    "junit_report",
    "lint_policy",
    "load",
    "parse_line",
    "policy_schema",
    "profile_names",
    "read_records",
    "read_regular",
    "run_fixtures",
    "sarif",
    "show_lines",
    "suggest",
]
