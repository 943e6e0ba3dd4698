"""Tools for people who write policies: explain, show, test, lint, format, schema."""

from policies.authoring.edit import Edit
from policies.authoring.explanation import Explanation, Nearest, explain_command
from policies.authoring.fixture import FixtureResult, junit_report, run_fixtures
from policies.authoring.format import format_policy
from policies.authoring.lint import LintFinding, lint_policy, sarif
from policies.authoring.listing import ShownLine, show_lines
from policies.authoring.requests import answer_request
from policies.authoring.schema import policy_schema

__all__ = [
    "Edit",
    "Explanation",
    "FixtureResult",
    "LintFinding",
    "Nearest",
    "ShownLine",
    "answer_request",
    "explain_command",
    "format_policy",
    "junit_report",
    "lint_policy",
    "policy_schema",
    "run_fixtures",
    "sarif",
    "show_lines",
]
