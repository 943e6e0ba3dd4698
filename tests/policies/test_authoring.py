"""Tools for authors: explain, show, test, fmt, schema, judge."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

import policies
from policies import (
    Command,
    Decision,
    PolicyFileError,
    answer_request,
    compile_layers,
    explain_command,
    format_policy,
    junit_report,
    load,
    policy_schema,
    profile_names,
    run_fixtures,
    show_lines,
)
from tests.policies.writing import HEAD, write

GIT = """
[[rule]]
name = "git-read"
runs_code = true
isolation = "namespace"
allow = [
  "git log [--oneline, -n INT(1..1000)] [REV] [-- PATH...]",
  "timeout INT CMD",
]
"""


def explained(folder, *argv: str, text: str = GIT, **more):
    return explain_command(compile_layers(write(folder, text), trust=False), Command(argv), **more)


def test_the_nearest_miss_is_named_with_its_place(tmp_path):
    found = explained(tmp_path, "git", "log", "-n", "5000")
    near = found.nearest[0]
    assert (
        found.verdict.reason,
        found.got,
        near.rule,
        near.line,
        near.column,
        near.word,
        near.expected,
    ) == (
        "value-range",
        "5000",
        "git-read",
        9,
        3,
        3,
        ("INT(1..1000)",),
    )


@pytest.mark.parametrize(
    ("argv", "kind", "before", "after"),
    [
        ("git log -n 5000", "widen-range", "INT(1..1000)", "INT(1..5000)"),
        ("git log --stat", "add-option", "", " [--stat]"),
        ("git log --since=monday", "add-option", "", " [--since=NAME]"),
        ("git log --oneline --oneline", "repeat-option", "", "..."),
        ("git log main dev", "add-operand", "", " [NAME]"),
        ("git status -s", "new-line", "", "git status [-s]"),
        ("wc -l a.py", "new-rule", "", "wc [-l] PATH"),
        ("timeout 5 git log --stat", "add-option", "", " [--stat]"),
    ],
)
def test_an_edit_is_offered_that_really_allows_the_command(argv, kind, before, after, tmp_path):
    found = explained(tmp_path, *argv.split())
    edit = found.edits[0]
    assert (edit.kind, edit.before, edit.after) == (kind, before, after)
    whole = 'x"'.join(GIT.rsplit('x"', 1)) + f'\n[[rule]]\nname = "n"\nallow = ["{edit.text}"]\n'
    verdict = load(write(tmp_path, whole, "new.toml")).judge(Command(tuple(argv.split())))
    assert verdict.decision is Decision.ALLOW


@pytest.mark.parametrize(
    "argv",
    [
        "git log -- ../x",
        "git -c core.pager=id log",
        "./git log",
        "git log -n 500000",
        "timeout 5 git log -- /etc/x",
        "bash -c id",
        "curl -K x https://a.org",
    ],
)
def test_no_edit_is_offered_where_another_command_is_the_answer(argv, tmp_path):
    assert explained(tmp_path, *argv.split()).edits == ()


def test_wrappers_around_the_fault_are_listed(tmp_path):
    assert explained(tmp_path, "timeout", "5", "git", "log", "--x").via == ("timeout INT CMD",)


def test_an_edit_says_what_else_it_would_allow(tmp_path):
    corpus = [("git", "log", "-n", "2000"), ("git", "log", "-n", "9999"), ("git", "log")]
    (edit, *_) = explained(tmp_path, "git", "log", "-n", "5000", corpus=corpus).edits
    assert edit.newly == 1
    assert ("git", "log", "--oneline", "-n", "5000") in edit.allows


def test_an_explanation_is_json(tmp_path):
    document = json.loads(json.dumps(explained(tmp_path, "git", "log", "-n", "5000").document()))
    assert (document["schema"], document["decision"], document["reason"], document["word"]) == (
        1,
        "deny",
        "value-range",
        3,
    )
    assert document["edits"][0]["at"] == {"line": 9, "column": 27}


def test_an_allowed_command_is_explained_by_its_rule(tmp_path):
    found = explained(tmp_path, "git", "log")
    assert (found.verdict.rule, found.nearest, found.edits) == ("git-read", (), ())


def test_show_names_the_origin_of_every_line(tmp_path):
    write(
        tmp_path, HEAD + '[[rule]]\nname = "low"\nallow = ["ls"]\ndeny = ["ls (-R)"]\n', "low.toml"
    )
    path = write(tmp_path, 'extends = ["low.toml"]\n[[rule]]\nname = "high"\nask = ["cat"]\n')
    got = [
        (x.decision, x.text, x.rule, Path(x.file).name, x.line)
        for x in show_lines(compile_layers(path, trust=False))
    ]
    assert got == [
        ("ask", "cat", "high", "t.toml", 6),
        ("allow", "ls", "low", "low.toml", 5),
        ("deny", "ls (-R)", "low", "low.toml", 6),
    ]


def test_formatting_prints_lines_canonically_and_leaves_the_rest(tmp_path):
    text = '# words\n[[rule]]\nname = "r"   # kept\n'
    text += 'allow = ["ls  [-l ,-a]   [PATH ...]", "x \'it\'"]\n'
    path = write(tmp_path, text)
    once = format_policy(compile_layers(path, trust=False))
    assert (
        once
        == HEAD
        + '# words\n[[rule]]\nname = "r"   # kept\nallow = ["ls [-l, -a] [PATH...]", "x it"]\n'
    )
    path.write_text(once)
    assert format_policy(compile_layers(path, trust=False)) == once


def test_fixtures_are_judged_and_reported(tmp_path):
    path = tmp_path / "cases.toml"
    path.write_text(
        '[[case]]\nargv = "git log"\ndecision = "allow"\nrule = "git-read"\n'
        '[[case]]\nline = "git log | rm x"\ndecision = "allow"\n'
        '[[case]]\nline = "echo $X"\nreason = "plan:variable"\n'
    )
    results = run_fixtures(load(write(tmp_path, GIT)), path)
    assert [result.ok for result in results] == [True, False, True]
    assert 'tests="3" failures="1"' in junit_report(results, "t")


@pytest.mark.parametrize(
    "text",
    ["", "[[case]]\nargv = 'a'\n", "[[case]]\nargv='a'\nfoo=1\ndecision='deny'\n", "nonsense"],
)
def test_a_broken_fixture_file_is_the_operators_mistake(text, tmp_path):
    path = tmp_path / "cases.toml"
    path.write_text(text)
    with pytest.raises(PolicyFileError):
        run_fixtures(load(write(tmp_path, GIT)), path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '["git","log"]',
            {
                "decision": "allow",
                "rule": "git-read",
                "reason": "ok",
                "runs_code": True,
                "isolation": "namespace",
            },
        ),
        ('{"argv":["git","log"],"cwd":"src"}', {"decision": "allow"}),
        ('{"line":"git log | git log"}', {"decision": "allow", "step": 0}),
        ('{"line":"git log $X"}', {"decision": "deny", "reason": "plan:variable", "column": 8}),
        ('["rm"]', {"decision": "deny", "reason": "no-program", "rule": None}),
    ],
)
def test_a_request_gets_one_verdict(text, expected, tmp_path):
    answer = answer_request(load(write(tmp_path, GIT)), text)
    assert {key: answer[key] for key in expected} == expected


@pytest.mark.parametrize(
    "text", ["x", "1", '{"argv": "a"}', '{"argv": [1]}', "{}", '{"argv": [], "cwd": 1}']
)
def test_what_is_no_request_is_refused(text, tmp_path):
    with pytest.raises((ValueError, TypeError)):
        answer_request(load(write(tmp_path, GIT)), text)


@pytest.mark.parametrize("name", profile_names())
def test_every_profile_is_of_the_schema(name):
    path = Path(policies.__file__).parent / "profiles" / f"{name}.toml"
    jsonschema.Draft202012Validator(policy_schema()).validate(tomllib.loads(path.read_text()))


@pytest.mark.parametrize(
    "text", ["schema = 1", 'schema = 1\nname = "x"\nallow = []', 'schema = 2\nname = "x"']
)
def test_what_does_not_load_is_not_of_the_schema(text):
    assert not jsonschema.Draft202012Validator(policy_schema()).is_valid(tomllib.loads(text))
