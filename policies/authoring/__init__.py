"""Tools for people who write policies: explain, show, test, lint, format, schema."""

from policies.authoring.coverage import Coverage, cover
from policies.authoring.difference import Difference, compare_policies
from policies.authoring.edit import Edit
from policies.authoring.explanation import Explanation, Nearest, explain_command
from policies.authoring.fixture import FixtureResult, junit_report, run_fixtures
from policies.authoring.format import format_policy
from policies.authoring.lint import LintFinding, lint_policy, sarif
from policies.authoring.listing import ShownLine, show_lines
from policies.authoring.recording import Recorded, read_records
from policies.authoring.requests import answer_request
from policies.authoring.schema import policy_schema
from policies.authoring.suggestion import suggest

__all__ = [
    "Coverage",
    "Difference",
    "Edit",
    "Explanation",
    "FixtureResult",
    "LintFinding",
    "Nearest",
    "Recorded",
    "ShownLine",
    "answer_request",
    "compare_policies",
    "cover",
    "explain_command",
    "format_policy",
    "junit_report",
    "lint_policy",
    "policy_schema",
    "read_records",
    "run_fixtures",
    "sarif",
    "show_lines",
    "suggest",
]
