"""The conformance vectors of the language, as a table."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import policies
from policies import Command, LineError, Policy, parse_line

CASES = Path(__file__).parent / "cases"
PREFIX = re.compile(r"(deny|ask|posix|words): ")


def rows(name: str) -> list[str]:
    lines = (CASES / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("# ")]


def vectors() -> list[tuple[str, str, str, str]]:
    found: list[tuple[str, str, str, str]] = []
    for row in rows("conformance.txt"):
        written, argv, decision, reason = row.split(" :: ")
        written = found[-1][0] if written == '"' else written
        found.append((written, argv, decision, reason))
    return found


def policy_of(written: str, tmp_path: Path) -> Policy:
    """A policy file of exactly these lines."""
    lines: dict[str, list[str]] = {"allow": [], "ask": [], "deny": []}
    styles: list[str] = []
    for part in re.split(r" \+ (?=[a-z:]+ )", written):
        kind = "allow"
        found = PREFIX.match(part)
        text = part[found.end() :] if found else part
        if found and found[1] in ("posix", "words"):
            styles = [f'[program.{p}]\nstyle = "{found[1]}"\n' for p in programs(written)]
        elif found:
            kind = found[1]
        lines[kind].append(text)
    content = 'schema = 1\nname = "v"\n' + "".join(styles) + '[[rule]]\nname = "r"\n'
    content += "".join(f"{kind} = {json.dumps(texts)}\n" for kind, texts in lines.items() if texts)
    path = tmp_path / "v.toml"
    path.write_text(content)
    return policies.load(path)


def programs(written: str) -> set[str]:
    parts = re.split(r" \+ (?=[a-z:]+ )", written)
    names = {PREFIX.sub("", part).split()[0] for part in parts}
    return names - {"ls", "echo"} if len(names) > 1 else names


@pytest.mark.parametrize(("written", "argv", "decision", "reason"), vectors())
def test_a_vector_is_decided_as_the_specification_says(written, argv, decision, reason, tmp_path):
    words = json.loads(argv) if argv.startswith("[") else shlex.split(argv)
    verdict = policy_of(written, tmp_path).judge(Command(tuple(words)))
    got = verdict.reason if verdict.reason == "ok" else f"{verdict.reason}@{verdict.word}"
    assert (verdict.decision.label, got) == (decision, reason), verdict.message


@pytest.mark.parametrize("row", rows("plans.txt"))
def test_a_line_is_read_and_judged_as_the_specification_says(row):
    line, expected = row.rsplit(" => ", 1)
    policy = policies.load("python-dev")
    try:
        verdict = policy.judge_plan(parse_line(line))
        got = "allow" if verdict.reason == "ok" else f"{verdict.reason}@{verdict.step}"
    except LineError as error:
        got = f"{error.reason}@{error.column}"
    assert got == expected or got.split("@")[0] == expected
