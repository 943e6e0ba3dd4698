"""``stockade policy``: tools for people who write policies.

Exit codes: 0 fine, 1 findings, 2 the file is broken.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness.cli.options import NEW_FILE, json_option, print_json
from harness.cli.policy_records import coverage, diff, import_command, suggest
from harness.cli.terminal import inline, put, say

if TYPE_CHECKING:
    from policies import Loaded

__all__ = ["policy"]

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT = "python-dev"
FINDINGS = 1


@click.group()
def policy() -> None:
    """Check, explain, test and compare policies."""


def source_option(function: F) -> F:
    """``--policy``: a profile or a file."""
    return click.option(
        "--policy",
        "source",
        default=DEFAULT,
        show_default=True,
        metavar="NAME|FILE",
        help="A profile or a policy file.",
    )(function)


def root_option(function: F) -> F:
    """``--root``: where the workspace is in the box."""
    return click.option(
        "--root",
        default="/workspace",
        show_default=True,
        metavar="DIR",
        help="Absolute path of the workspace in the box.",
    )(function)


def loaded_from(source: str) -> Loaded:
    """The policy with the places of all its lines, every example proved."""
    from policies import compile_layers

    return compile_layers(source, trust=False)


@policy.command(name="list")
@json_option
def list_profiles(*, as_json: bool) -> int:
    """Name the built-in profiles."""
    from policies import compile_layers, profile_names

    found = [compile_layers(name) for name in profile_names()]
    if as_json:
        rows = [{"name": one.policy.name, "description": one.policy.description,
                 "isolation": one.policy.isolation.label, "lines": len(one.policy.lines),
                 "digest": one.policy.digest} for one in found]  # fmt: skip
        print_json({"profiles": rows})
        return 0
    for one in found:
        put(inline(f"{one.policy.name:<12} {one.policy.description}"))
    return 0


@policy.command()
@click.argument("files", nargs=-1)
@source_option
@json_option
def check(*, files: tuple[str, ...], source: str, as_json: bool) -> int:
    """Load policies and prove every example; show all faults at once."""
    from policies import PolicyFileError

    results: list[dict[str, object]] = []
    broken = False
    for name in files or (source,):
        try:
            found = loaded_from(name)
        except PolicyFileError as error:
            broken = True
            results.append({"policy": name, "ok": False, "faults": [
                {"file": d.file, "line": d.line, "column": d.column, "message": d.message,
                 "fix": d.fix} for d in error.diagnostics]})  # fmt: skip
            for one in error.diagnostics:
                say(inline(one))
            continue
        kept = found.builder.kept
        examples = sum(len(r.fields.data.get(k, [])) for r in kept for k in ("match", "not_match"))
        lines = len(found.policy.lines)
        results.append({"policy": name, "ok": True, "rules": len(kept), "examples": examples,
                        "lines": lines, "digest": found.policy.digest})  # fmt: skip
        if not as_json:
            put(f"{inline(name)}: {len(kept)} rules, {lines} lines, {examples} examples hold")
    if as_json:
        print_json({"policies": results})
    if broken:
        return 2
    return 0


@policy.command()
@source_option
@root_option
def judge(*, source: str, root: str) -> int:
    """Read JSON commands, one a line, and print one JSON verdict a line.

    A line is a list of words, {"argv": [...], "cwd": "."} or {"line": "a | b"}.
    """
    import json

    from policies import answer_request, load

    found = load(source)
    bad = False
    for number, text in enumerate(sys.stdin, 1):
        if not text.strip():
            continue
        try:
            answer = answer_request(found, text, root=root)
        except (ValueError, TypeError) as error:
            bad = True
            answer = {"decision": "deny", "rule": None, "reason": "not-a-request",
                      "message": f"line {number}: {error}"}  # fmt: skip
        put(json.dumps(answer, separators=(",", ":")))
    if bad:
        return 2
    return 0


@policy.command()
@source_option
@root_option
@click.option("--line", help="A command line instead of words.")
@click.option("--cwd", default=".", show_default=True, help="The folder it starts in.")
@json_option
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
def explain(
    *, source: str, root: str, line: str | None, cwd: str, as_json: bool, argv: tuple[str, ...]
) -> int:
    """Say why a command is decided as it is, and the smallest edit that would allow it."""
    from policies import Command, LineError, Pipeline, explain_command, parse_line

    if (line is None) == (not argv):
        raise click.UsageError("give either words behind --, or --line TEXT")
    found = loaded_from(source)
    commands = [Command(argv, cwd)]
    if line is not None:
        try:
            plan = parse_line(line, root=root, cwd=cwd)
        except LineError as error:
            document = {"schema": 1, "line": line, "decision": "deny", "reason": error.reason,
                        "column": error.column, "message": error.message, "edits": []}  # fmt: skip
            if as_json:
                print_json(document)
            else:
                put(f"deny: {inline(error.message)} ({error.reason})\n  {inline(line)}")
                put("  " + " " * len(inline(line[: error.column])) + "^")
            return FINDINGS
        commands = [
            Command(stage.argv, cwd, env=stage.env)
            for step in plan.steps
            if isinstance(step, Pipeline)
            for stage in step.stages
        ]
    explained = [explain_command(found, command, root=root) for command in commands]
    if as_json:
        documents = [one.document() for one in explained]
        print_json(documents[0] if line is None else {"schema": 1, "stages": documents})
    else:
        for one in explained:
            put(one.text())
    if any(one.verdict.decision.label == "deny" for one in explained):
        return FINDINGS
    return 0


@policy.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@source_option
@root_option
@json_option
@click.option("--junit", type=NEW_FILE, help="Write a JUnit report.")
def test(
    *, files: tuple[Path, ...], source: str, root: str, as_json: bool, junit: Path | None
) -> int:
    """Judge the [[case]] tables of fixture files and compare."""
    from policies import junit_report, load, run_fixtures

    found = load(source)
    results = [result for path in files for result in run_fixtures(found, path, root=root)]
    failed = [result for result in results if not result.ok]
    if junit is not None:
        junit.write_text(junit_report(results, found.name), "utf-8")
    if as_json:
        print_json({"cases": len(results), "failed": [
            {"command": r.command, "expected": r.expected, "got": r.got, "message": r.message}
            for r in failed]})  # fmt: skip
    else:
        for result in failed:
            put(f"FAILED {inline(result.command)}\n  expected {inline(result.expected)}\n"
                 f"  got      {inline(result.got)}\n  {inline(result.message)}")  # fmt: skip
        put(f"{len(results)} cases, {len(failed)} failed")
    if failed:
        return FINDINGS
    return 0


@policy.command()
@click.argument("files", nargs=-1)
@source_option
@click.option("--strict", is_flag=True, help="Also report programs that are not pinned.")
@click.option("--format", "form", type=click.Choice(["text", "json", "sarif"]), default="text")
@click.option("--fail-on", type=click.Choice(["error", "warning", "note"]), default="warning",
              show_default=True)  # fmt: skip
@json_option
def lint(
    *, files: tuple[str, ...], source: str, strict: bool, form: str, fail_on: str, as_json: bool
) -> int:
    """Find what a policy that loads may still get wrong."""
    from policies import lint_policy, sarif

    findings = [
        f for name in files or (source,) for f in lint_policy(loaded_from(name), strict=strict)
    ]
    open_ = [finding for finding in findings if not finding.waived]
    if form == "sarif":
        from importlib.metadata import version

        print_json(sarif(findings, version("stockade-harness")))
    elif as_json or form == "json":
        rows = [{name: getattr(f, name) for name in f.__slots__} for f in findings]
        print_json({"findings": rows})
    else:
        for finding in open_:
            put(inline(finding))
        waived = len(findings) - len(open_)
        say(f"{len(open_)} findings, {waived} waived")
    order = ("error", "warning", "note")
    if any(order.index(f.severity) <= order.index(fail_on) for f in open_):
        return FINDINGS
    return 0


@policy.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--check", "only_check", is_flag=True, help="Change nothing; exit 1 if it would.")
@json_option
def fmt(*, files: tuple[Path, ...], only_check: bool, as_json: bool) -> int:
    """Print synopsis lines in their canonical form, in place."""
    from policies import format_policy

    changed = []
    for path in files:
        text = format_policy(loaded_from(str(path)))
        if text != path.read_text("utf-8"):
            changed.append(str(path))
            tell = say if as_json else put
            tell(inline(f"{'would change' if only_check else 'changed'} {path}"))
            if not only_check:
                path.write_text(text, "utf-8")
    if as_json:
        print_json({"changed": changed, "written": not only_check})
    return FINDINGS if changed and only_check else 0


@policy.command()
@source_option
@click.option("--program", metavar="NAME", help="Only the lines of this program.")
@json_option
def show(*, source: str, program: str | None, as_json: bool) -> int:
    """Print the merged policy, each line with the place it comes from."""
    from policies import show_lines

    found = loaded_from(source)
    lines = [line for line in show_lines(found) if program in (None, line.program)]
    merged = found.policy
    if as_json:
        rows = [{name: getattr(line, name) for name in line.__slots__} for line in lines]
        print_json({"name": merged.name, "digest": merged.digest,
                    "isolation": merged.isolation.label, "protect": list(merged.protect),
                    "redirect": sorted(merged.redirect), "lines": rows})  # fmt: skip
        return 0
    put(inline(f"# {merged.name} {merged.digest}"))
    put(f"# isolation {merged.isolation.label}, redirect {sorted(merged.redirect)}")
    for line in lines:
        mark = " runs_code" if line.runs_code else ""
        put(inline(f"{line.decision:<5} {line.text}"))
        where = inline(f"{line.rule}, {line.file}:{line.line}")
        put(f"      # {where}, {line.isolation}{mark}")
    return 0


@policy.command()
def schema() -> int:
    """Print the JSON Schema of policy files, for editors."""
    from policies import policy_schema

    print_json(policy_schema())
    return 0


policy.add_command(diff)
policy.add_command(coverage)
policy.add_command(suggest)
policy.add_command(import_command)
