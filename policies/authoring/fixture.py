"""test: fixture files of commands and the decisions they must get."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policies.command import Command
from policies.commandline import LineError, parse_line
from policies.loading.diagnostic import Diagnostic, PolicyFileError
from policies.loading.examples import split_words
from policies.policy import Policy
from policies.regular import read_regular

__all__ = ["FixtureResult", "junit_report", "run_fixtures"]

KEYS = {"argv", "line", "cwd", "root", "decision", "reason", "rule", "runs_code"}
CHECKED = ("decision", "reason", "rule", "runs_code")


@dataclass(frozen=True, slots=True)
class FixtureResult:
    """One fixture with what it expected and what it got."""

    command: str
    expected: dict[str, object]
    got: dict[str, object]
    message: str

    @property
    def ok(self) -> bool:
        """Whether all that was expected holds."""
        return all(self.got[key] == value for key, value in self.expected.items())


def run_fixtures(policy: Policy, path: Path, *, root: str = "/workspace") -> list[FixtureResult]:
    """Judge the ``[[case]]`` tables of a TOML file.

    A case has ``argv`` or ``line``, and any of ``decision``, ``reason``, ``rule``, ``runs_code``.

    Raises:
        PolicyFileError: the file is not of this form.
    """
    try:
        data = tomllib.loads(read_regular(path).decode("utf-8"))
    except RecursionError:
        raise PolicyFileError([Diagnostic(str(path), 0, 0, "nested too deeply")]) from None
    except (OSError, ValueError) as error:
        raise PolicyFileError([Diagnostic(str(path), 0, 0, str(error))]) from None
    cases = data.get("case", [])
    if not isinstance(cases, list) or not cases:
        raise PolicyFileError([Diagnostic(str(path), 0, 0, "no [[case]] tables")])
    found: list[FixtureResult] = []
    for number, case in enumerate(cases, 1):
        unknown = set(case) - KEYS
        expected = {key: case[key] for key in CHECKED if key in case}
        if unknown or ("argv" in case) == ("line" in case) or not expected:
            message = f"case {number} needs argv or line, and a decision, reason or rule"
            if unknown:
                message = (
                    f"case {number}: unknown key {min(unknown)!r}; known: {', '.join(sorted(KEYS))}"
                )
            raise PolicyFileError([Diagnostic(str(path), 0, 0, message)])
        found.append(run(policy, case, expected, case.get("root", root)))
    return found


def junit_report(results: list[FixtureResult], name: str) -> str:
    """The results as JUnit XML."""
    from xml.sax.saxutils import quoteattr

    failed = sum(not result.ok for result in results)
    head = f'<testsuite name={quoteattr(name)} tests="{len(results)}" failures="{failed}">'
    rows = [head]
    for result in results:
        case = f"<testcase name={quoteattr(result.command)}"
        text = f"expected {result.expected}, got {result.got}: {result.message}"
        rows.append(
            f"{case}/>" if result.ok else f"{case}><failure message={quoteattr(text)}/></testcase>"
        )
    return "\n".join([*rows, "</testsuite>", ""])


def run(
    policy: Policy, case: dict[str, Any], expected: dict[str, object], root: str
) -> FixtureResult:
    """Judge one case."""
    cwd = case.get("cwd", ".")
    if "line" in case:
        shown = case["line"]
        try:
            verdict = policy.judge_plan(parse_line(shown, root=root, cwd=cwd), root=root)
        except LineError as error:
            got = {"decision": "deny", "reason": error.reason, "rule": None, "runs_code": False}
            return FixtureResult(shown, expected, dict(got), error.message)
    else:
        argv = case["argv"]
        argv = split_words(argv) if isinstance(argv, str) else argv
        shown = " ".join(argv)
        verdict = policy.judge(Command(tuple(argv), cwd), root=root)
    got = {
        "decision": verdict.decision.label,
        "reason": verdict.reason,
        "rule": verdict.rule,
        "runs_code": verdict.runs_code,
    }
    return FixtureResult(shown, expected, dict(got), verdict.message)
