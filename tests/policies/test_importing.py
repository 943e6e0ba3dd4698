"""Importers: what is carried over, what is reported, and that nothing is widened."""

from __future__ import annotations

import json

import pytest

from policies import Policy, import_policy, load
from tests.policies.writing import code, judge, write


def carried(folder, text: str, source: str) -> tuple[Policy, list[tuple[str, int]]]:
    found = import_policy(text, source)
    return load(write(folder, found.text)), [(loss.code, loss.line) for loss in found.losses]


def decisions(found: Policy, *argvs: str) -> list[str]:
    return [code(judge(found, *argv.split())).split("@")[0] for argv in argvs]


CODEX = """
READ = ["log", "status"]
prefix_rule(pattern = ["git", READ], match = ["git log -n 5"], not_match = ["git"])
prefix_rule(pattern = ["git", "push"], decision = "prompt", justification = "it leaves the house")
FORCE = [["git", "push", "-f"]]
prefix_rule(pattern = ["git", "push", "-f"], decision = "forbidden", match = FORCE)
"""


def test_codex_prefixes_become_lines_with_any_tail(tmp_path):
    found, losses = carried(tmp_path, CODEX, "codex")
    argvs = [
        "git log --x -y",
        "git status",
        "git",
        "git push origin",
        "git push -f",
        "git push x -f",
        "git -C a log",
    ]
    assert decisions(found, *argvs) == [
        "allow",
        "allow",
        "missing-operand",
        "ask",
        "denied",
        "denied",
        "literal",
    ]
    assert losses == [("any-tail", 3), ("any-tail", 4), ("wider-deny", 6)]


def test_the_authors_words_come_along(tmp_path):
    found, _ = carried(tmp_path, CODEX, "codex")
    assert judge(found, "git", "push").message == "it leaves the house"


def test_codex_options_in_a_prefix_stay_words_in_their_place(tmp_path):
    found, _ = carried(
        tmp_path, 'prefix_rule(pattern = ["git", ["-v", "--version"], "Head"])', "codex"
    )
    assert decisions(found, "git -v Head", "git --version Head x", "git Head -v") == [
        "allow",
        "allow",
        "literal",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "for x in []: pass",
        "prefix_rule(pattern = f())",
        "load('x', 'y')",
        "def f(): pass",
        "prefix_rule(pattern=",
        "x.y()",
    ],
)
def test_what_is_not_evaluated_turns_every_allow_into_ask(text, tmp_path):
    found = import_policy(
        'prefix_rule(pattern = ["ls"])\n' + text if "=" not in text[-1] else text, "codex"
    )
    assert "deny-lost" in [loss.code for loss in found.losses]
    assert 'allow = ["ls' not in found.text


def test_codex_hosts_and_paths(tmp_path):
    text = (
        'prefix_rule(pattern = ["git"])\nhost_executable(name = "git", paths = ["/usr/bin/git"])\n'
    )
    text += 'network_rule(host = "a.org")\nnetwork_rule(host = "b.org", protocol = "socks5")\n'
    found, losses = carried(tmp_path, text, "codex")
    verdict = judge(found, "git", "x")
    assert (verdict.paths, verdict.conditions.network) == (("/usr/bin/git",), ("a.org",))
    assert ("unsupported", 4) in losses


def test_an_example_that_another_rule_decides_is_dropped(tmp_path):
    text = 'prefix_rule(pattern = ["ls"], not_match = ["cat x"])\nprefix_rule(pattern = ["cat"])\n'
    assert ("example-dropped", 1) in carried(tmp_path, text, "codex")[1]


def claude(**lists: object) -> str:
    return json.dumps({"permissions": lists}, indent=1)


def test_claude_patterns_become_lines(tmp_path):
    text = claude(
        allow=["Bash(git diff)", "Bash(npm run test:*)", "Bash(ls:*)", "Bash(go vet *)"],
        ask=["Bash(git push:*)"],
    )
    found, losses = carried(tmp_path, text, "claude")
    argvs = [
        "git diff",
        "git diff x",
        "npm run test:unit -x",
        "npm run build",
        "ls -l",
        "lsof",
        "go vet ./...",
        "git push x",
    ]
    assert decisions(found, *argvs) == [
        "allow",
        "extra-operand",
        "allow",
        "value-type",
        "allow",
        "no-program",
        "allow",
        "ask",
    ]
    assert {loss for loss, _ in losses} == {"string-prefix"}


@pytest.mark.parametrize(
    ("entry", "loss"),
    [
        ("Bash", "everything"),
        ("Bash(*)", "everything"),
        ("Bash(git * main)", "glob-middle"),
        ("Bash(a && b)", "not-argv"),
        ("Read(./x)", "not-argv"),
        ("Bash(/bin/ls:*)", "unsupported"),
    ],
)
def test_what_claude_allows_too_widely_is_refused(entry, loss, tmp_path):
    found = import_policy(claude(allow=[entry]), "claude")
    assert (loss in {one.code for one in found.losses}, "[[rule]]" in found.text) == (True, False)


def test_claude_denials_are_at_least_as_wide(tmp_path):
    text = claude(
        allow=["Bash(git:*)", "Bash(rm:*)"],
        deny=["Bash(git push:*)", "Bash(git * main)", "Bash(rm -rf *)"],
    )
    found, losses = carried(tmp_path, text, "claude")
    argvs = ["git push", "git pushx", "git log main", "git log", "rm -rf x", "rm x"]
    assert decisions(found, *argvs) == ["denied", "denied", "denied", "allow", "denied", "allow"]
    assert "wider-deny" in {loss for loss, _ in losses}


def test_a_claude_denial_that_cannot_be_written_turns_allows_into_asks(tmp_path):
    text = claude(allow=["Bash(ls:*)"], deny=["Bash(curl x | sh)"])
    found, losses = carried(tmp_path, text, "claude")
    assert decisions(found, "ls") == ["ask"]
    assert "deny-lost" in {loss for loss, _ in losses}


def test_denying_everything_leaves_nothing(tmp_path):
    found, _ = carried(tmp_path, claude(allow=["Bash(ls:*)"], deny=["Bash"]), "claude")
    assert decisions(found, "ls") == ["no-program"]


GEMINI = """
[[rule]]
toolName = "run_shell_command"
commandPrefix = ["git status", "ls"]
decision = "allow"
priority = 100
[[rule]]
toolName = ["run_shell_command"]
commandPrefix = "git"
decision = "deny"
denyMessage = "not here"
priority = 50
modes = ["yolo"]
[[rule]]
toolName = "run_shell_command"
commandRegex = "^npm test\\\\b"
decision = "ask_user"
[[rule]]
toolName = "read_file"
decision = "allow"
"""


def test_gemini_prefixes_priorities_and_regexes(tmp_path):
    found, losses = carried(tmp_path, GEMINI, "gemini")
    assert decisions(found, "git status", "ls -l", "npm test x", "npm run") == [
        "denied",
        "allow",
        "ask",
        "literal",
    ]
    assert {("priority-inversion", 2), ("unsupported", 7), ("regex", 14), ("not-argv", 18)} <= set(
        losses
    )


@pytest.mark.parametrize("decision", ["allow", "deny", "ask_user"])
def test_a_gemini_expression_beyond_a_prefix_is_never_widened(decision, tmp_path):
    text = GEMINI + '[[rule]]\ntoolName = "run_shell_command"\ncommandRegex = "(a|b)+"\n'
    text += f'decision = "{decision}"\n'
    found, _ = carried(tmp_path, text, "gemini")
    expected = "allow" if decision == "allow" else "ask"
    assert (decisions(found, "ls")[0], decisions(found, "aab")) == (expected, ["no-program"])


@pytest.mark.parametrize(("text", "source"), [("{", "claude"), ("[[", "gemini"), ("(", "codex")])
def test_a_file_that_cannot_be_read_gives_an_empty_policy_and_says_so(text, source):
    found = import_policy(text, source)
    assert ("[[rule]]" in found.text, [loss.severity for loss in found.losses]) == (
        False,
        ["error"],
    )
