"""For each kind of denial the smallest change of the line, tried: it allows the command."""

from __future__ import annotations

import pytest

from policies import Command, Decision, compile_layers, explain_command, load
from tests.policies.writing import toml, write

CASES = [
    ("git push (--force)", "git push", "make-optional", "(--force)", "[--force]"),
    ("x (-e|-f) [a]", "x a", "make-optional", "(-e|-f)", "[-e|-f]"),
    ("wc PATH", "wc", "make-optional", "PATH", "[PATH]"),
    ("cat PATH...", "cat", "make-optional", "PATH", "[PATH]"),
    ("cp a b", "cp a c", "add-literal", "b", "(b|c)"),
    ("make (all|test)", "make dist", "no-subcommand", "", ""),
    ("x PATH (a|b)", "x p c", "add-literal", "b", "b|c"),
    ("rm [-{rf}] PATH:rw", "rm -rv a", "add-letter", "rf", "rfv"),
    ("ls [-{la,w INT}] [PATH]", "ls -lh a", "add-letter", "la", "lah"),
    ("log [--a|--b]", "log --a --b", "add-option", "--a|--b", "--a, --b"),
    ("x [--long, -s]", "x --long=1", "add-value", "--long", "--long[=INT]"),
    ("ls [-n INT(1..9)]", "ls -n -1", "change-type", "INT(1..9)", "INT(-1..9):dash"),
    ("wc [PATH]", "wc a b", "add-operand", "", " [NAME]"),
    ("ls [PATH]", "ls -- a", "end-marker", "", "[--] "),
]


@pytest.mark.parametrize(("line", "command", "kind", "before", "after"), CASES)
def test_the_edit_of_a_line_allows_the_command(line, command, kind, before, after, tmp_path):
    path = write(tmp_path, f'[[rule]]\nname = "r"\nallow = {toml([line])}\n')
    argv = tuple(command.split())
    (edit, *_) = explain_command(compile_layers(path, trust=False), Command(argv)).edits
    if kind != "no-subcommand":
        assert (edit.kind, edit.before, edit.after) == (kind, before, after)
    changed = write(tmp_path, f'[[rule]]\nname = "r"\nallow = {toml([edit.text])}\n', "new.toml")
    assert load(path).judge(Command(argv)).decision is Decision.DENY
    assert load(changed).judge(Command(argv)).decision is Decision.ALLOW


@pytest.mark.parametrize("word", ["X=1", "a b", "=", "-x", "(", "A"])
def test_a_program_that_no_line_can_name_gets_no_edit_and_no_fault(word, tmp_path):
    path = write(tmp_path, '[[rule]]\nname = "r"\nallow = ["ls"]\n')
    found = explain_command(compile_layers(path, trust=False), Command((word, "ls")))
    assert found.verdict.decision is Decision.DENY
    for edit in found.edits:
        changed = write(
            tmp_path, f'[[rule]]\nname = "r"\nallow = {toml([edit.text])}\n', "new.toml"
        )
        assert load(changed).judge(Command((word, "ls"))).decision is Decision.ALLOW
