"""Project files: they can only take away."""

from __future__ import annotations

import pytest

import policies
from policies import Isolation, Policy, PolicyFileError
from tests.policies.writing import code, judge, write

BASE = """
[[rule]]
name = "git"
allow = ["git log [-n INT]", "git push", "timeout INT CMD"]
[[rule]]
name = "ls"
allow = ["ls [-l]"]
match = ["ls -l"]
"""


def restricted(folder, text: str) -> Policy:
    project = folder / "project.toml"
    project.write_text("schema = 1\n" + text)
    return policies.load(write(folder, BASE), project=project)


@pytest.mark.parametrize(
    "key",
    [
        "allow = []",
        "ask = []",
        "[types]\nX = 'INT'",
        "[env]\nA = 'INT'",
        "[network]\nallow = ['x']",
        "[[rule]]\nname = 'x'",
        "extends = []",
    ],
)
def test_it_has_no_key_that_could_add_anything(key, tmp_path):
    with pytest.raises(PolicyFileError, match=r"unknown key .* in a project file"):
        restricted(tmp_path, key + "\n")


def test_its_deny_lines_deny(tmp_path):
    found = restricted(tmp_path, 'deny = ["git push"]\n')
    assert [code(judge(found, *a.split())) for a in ("git push", "git log")] == [
        "denied@0",
        "allow",
    ]


def test_for_the_programs_of_only_another_line_must_match_too(tmp_path):
    found = restricted(tmp_path, 'only = ["git log", "rm PATH"]\n')
    argvs = [
        "git log",
        "git log -n 5",
        "git push",
        "ls -l",
        "rm x",
        "timeout 5 git push",
        "/usr/bin/git push",
    ]
    assert [code(judge(found, *argv.split())) for argv in argvs] == [
        "allow",
        "unknown-option@2",
        "no-subcommand@1",
        "allow",
        "no-program@0",
        "no-subcommand@3",
        "no-subcommand@1",
    ]


def test_it_drops_rules_raises_the_level_and_lowers_limits(tmp_path):
    text = 'drop = ["ls"]\nisolation = "container"\n[budgets]\nsteps = 3\n'
    text += "[limits]\nwall_seconds = 5\nmemory_mib = 9999\n"
    found = restricted(tmp_path, text)
    assert code(judge(found, "ls")) == "no-program@0"
    limits = judge(found, "git", "log").conditions.limits
    assert (found.isolation, limits.wall_seconds, limits.memory_mib, found.budgets.steps) == (
        Isolation.CONTAINER,
        5,
        1024,
        3,
    )


def test_its_faults_are_shown_like_those_of_a_policy(tmp_path):
    with pytest.raises(PolicyFileError) as caught:
        restricted(tmp_path, 'deny = ["git ["]\nonly = ["ls NOPE"]\ndrop = ["x"]\n')
    assert [(d.line, d.column) for d in caught.value.diagnostics] == [(2, 14), (3, 13), (4, 9)]


def test_it_is_part_of_the_digest(tmp_path):
    one = restricted(tmp_path, 'deny = ["git push"]\n').digest
    assert one != policies.load(write(tmp_path, BASE)).digest
