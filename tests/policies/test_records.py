"""Policies held against recorded commands: diff, coverage, suggest."""

from __future__ import annotations

import json
from pathlib import Path

from policies import (
    Command,
    Decision,
    Recorded,
    compare_policies,
    compile_layers,
    cover,
    load,
    read_records,
    suggest,
)
from policies.authoring.hazard import hazard_of
from tests.policies.writing import lines, policy, write

CASES = Path(__file__).parent / "cases" / "agent-commands.jsonl"


def recorded(*texts: str) -> list[Recorded]:
    return [Recorded(tuple(text.split())) for text in texts]


def test_commands_are_read_from_the_log_of_a_run():
    plan = [["ls", "-l"], {"argv": ["wc"]}]
    log = [
        {
            "type": "tool/call",
            "name": "run_command",
            "arguments": json.dumps({"argv": ["ls"], "cwd": "src"}),
        },
        {"type": "tool/verdict", "policy": "sha256:1"},
        {"type": "tool/call", "name": "read_file", "arguments": "{}"},
        {
            "type": "tool/call",
            "name": "run_command",
            "arguments": json.dumps({"line": "cd a && cat x | wc"}),
        },
        {
            "type": "tool/call",
            "name": "run_command",
            "arguments": json.dumps({"plan": [plan, "&&", [["pwd"]]]}),
        },
        {"type": "tool/call", "name": "run_command", "arguments": "not json"},
    ]
    got = list(read_records([*map(json.dumps, log), "torn {"]))
    assert got == [
        Recorded(("ls",), "src", "sha256:1"),
        Recorded(("cat", "x"), "./a"),
        Recorded(("wc",), "./a"),
        Recorded(("ls", "-l")),
        Recorded(("wc",)),
        Recorded(("pwd",)),
    ]


def test_a_diff_names_what_was_widened_narrowed_and_asked(tmp_path):
    (tmp_path / "a").mkdir()
    old = lines(tmp_path / "a", "ls [-l]", "cat PATH", ask=["rm PATH", "touch PATH"])
    new = lines(tmp_path, "ls [-l, -a]", "touch PATH", ask=["cat PATH"])
    corpus = recorded("ls -a", "cat x", "rm x", "touch x", "ls", "pwd")
    found = {
        d.argv: (d.change, d.before, d.after)
        for d in compare_policies(old, new, corpus)
        if d.recorded
    }
    assert found == {
        ("ls", "-a"): ("widened", "deny", "allow"),
        ("cat", "x"): ("narrowed", "allow", "ask"),
        ("rm", "x"): ("narrowed", "ask", "deny"),
        ("touch", "x"): ("ask-to-allow", "ask", "allow"),
    }


def test_a_diff_finds_differences_that_nobody_recorded(tmp_path):
    (tmp_path / "a").mkdir()
    old, new = (
        lines(tmp_path / "a", "head [-n INT(1..10)]"),
        lines(tmp_path, "head [-n INT(1..99)]"),
    )
    assert [(d.change, d.argv) for d in compare_policies(old, new)] == []
    wider = lines(tmp_path, "head [-n INT(1..99), -q]")
    assert ("widened", ("head", "-q")) in [(d.change, d.argv) for d in compare_policies(old, wider)]


def test_equal_policies_do_not_differ():
    assert compare_policies(load("readonly"), load("readonly")) == []


def test_changed_conditions_are_a_difference(tmp_path):
    (tmp_path / "a").mkdir()
    old, new = lines(tmp_path / "a", "ls"), lines(tmp_path, "ls", isolation="container")
    assert [d.change for d in compare_policies(old, new, recorded("ls"))] == ["conditions"]


def test_coverage_counts_lines_and_groups_denials(tmp_path):
    path = write(tmp_path, '[[rule]]\nname = "r"\nallow = ["ls [-l]", "pwd", "timeout INT CMD"]\n')
    records = recorded("ls", "timeout 5 ls -l", "ls -a", "ls -r", "rm x")
    found = cover(compile_layers(path, trust=False), records)
    assert [(use.text, use.count, use.line) for use in found.lines] == [
        ("ls [-l]", 2, 5),
        ("pwd", 0, 5),
        ("timeout INT CMD", 1, 5),
    ]
    assert [use.text for use in found.unused] == ["pwd"]
    assert [(d.program, d.reason, d.count) for d in found.denied] == [
        ("ls", "unknown-option", 2),
        ("rm", "no-program", 1),
    ]
    assert found.denied[0].edit == "ls [-a] [-l]"


def test_coverage_names_the_policies_that_decided_before(tmp_path):
    path = write(tmp_path, '[[rule]]\nname = "r"\nallow = ["ls"]\n')
    assert cover(compile_layers(path), [Recorded(("ls",), ".", "sha256:0")]).strangers == [
        "sha256:0"
    ]


def test_a_suggestion_is_the_narrowest_line_that_covers_what_was_seen(tmp_path):
    text = suggest(
        recorded(
            "head -n 5 a.py", "head -n 20 src/b.py", "wc -l a b c", "ls", "ls -l src", "git log"
        )
    )
    assert [line for line in text.splitlines() if "ask" in line] == [
        '# ask = ["git log"]',
        'ask = ["head [-n INT(5..20)] PATH"]',
        'ask = ["ls [-l] [ENUM(src)]"]',
        'ask = ["wc [-l] ENUM(a) [ENUM(b,c)...]"]',
    ]
    assert "# git: it runs code of the workspace" in text


def test_a_suggested_policy_covers_every_recorded_command_without_hazards(tmp_path):
    records = [
        one
        for text in CASES.read_text().splitlines()
        for one in read_records([json.dumps({"line": json.loads(text)["line"]})])
    ]
    found = policy(tmp_path, "") if not records else load(write(tmp_path, suggest(records)))
    denied = [
        one.argv
        for one in records
        if "/" not in one.argv[0]
        and found.judge(Command(one.argv), root="/testbed").decision is Decision.DENY
    ]
    harmless = [argv for argv in denied if not is_hazard(argv[0]) and inside(argv)]
    assert harmless == []


def is_hazard(program: str) -> bool:
    known = hazard_of(program)
    return bool(
        known.interpreter
        or known.inline
        or known.wrapper
        or known.runs_project
        or known.script
        or known.fetches
    )


def inside(argv: tuple[str, ...]) -> bool:
    return not any(word.startswith(("/", "~", "../")) or "/../" in word for word in argv)
