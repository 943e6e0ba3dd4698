"""Policy files: what is read, and what is refused with its place."""

from __future__ import annotations

import pytest

import policies
from policies import Budgets, Isolation, PolicyFileError
from tests.policies.writing import code, faults, judge, lines, policy, write


def test_an_unknown_key_is_refused_where_it_stands(tmp_path):
    text = '[[rule]]\nname = "r"\nallow = ["ls"]\nalow = ["rm"]\n'
    assert faults(tmp_path, text) == ["6:1 unknown key 'alow' in a rule"]


def test_a_fault_in_a_line_is_shown_with_a_caret_below_it(tmp_path):
    path = write(tmp_path, '[[rule]]\nname = "r"\nallow = ["ls [-l] PAHT..."]\n')
    with pytest.raises(PolicyFileError) as caught:
        policies.load(path)
    assert str(caught.value) == (
        f"{path}:5:19: error: unknown type PAHT\n"
        ' 5 | allow = ["ls [-l] PAHT..."]\n'
        "   |                   ^^^^ did you mean PATH?"
    )
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ('"""ls\n  [-l]\n  XYZ"""', "7:3"),
        (r'"ls \t XYZ"', "5:17"),
        ("'ls XYZ'", "5:14"),
        ('"ls (-l"', "5:14"),
        ('"ls [-l] ]"', "5:19"),
        ('"ls \'x"', "5:14"),
        ('"ls RE(/[a/)"', "5:20"),
        ('"ls [-{aa}]"', "5:15"),
        ('"ls INT(5..1)"', "5:14"),
    ],
)
def test_the_column_is_the_one_inside_the_text_of_the_file(line, place, tmp_path):
    (fault,) = faults(tmp_path, f'[[rule]]\nname = "r"\nallow = [{line}]\n')
    assert fault.split()[0] == place


def test_all_faults_of_a_file_come_at_once_in_order(tmp_path):
    text = (
        'isolation = "strong"\n'
        "[types]\nlower = 'PATH'\n"
        '[[rule]]\nname = "r"\nallow = ["ls ["]\n'
        '[[rule]]\nname = "r"\nallow = ["cat NOPE"]\n'
    )
    assert [fault.split()[0] for fault in faults(tmp_path, text)] == ["3:13", "5:1", "8:14", "10:8"]


@pytest.mark.parametrize("text", ["schema = 2\nname='x'", "name = 'x'\nschema = '1'", "schema = 1"])
def test_schema_and_name_are_required(text, tmp_path):
    assert len(faults(tmp_path, text)) == 1


def test_what_is_not_toml_is_refused_with_its_place(tmp_path):
    assert faults(tmp_path, "[[rule\n")[0].startswith("3:7 not TOML")


def test_an_example_that_does_not_hold_keeps_the_file_from_loading(tmp_path):
    text = (
        '[[rule]]\nname = "r"\nallow = ["ls [-l]"]\n'
        'match = ["ls -l", "ls -a"]\nnot_match = ["ls"]\n'
    )
    assert faults(tmp_path, text) == [
        "6:19 example of rule 'r': must not be denied, got deny (unknown-option@1)",
        "7:14 example of rule 'r': must be denied, got allow by rule r: ls [-l]",
    ]


def test_an_example_may_name_its_decision_and_folder(tmp_path):
    text = (
        '[[rule]]\nname = "r"\nask = ["ls PATH"]\n'
        'match = [{ argv = ["ls", "../x"], cwd = "src", decision = "ask" }]\n'
        'not_match = [{ argv = "ls ../x" }]\n'
    )
    assert faults(tmp_path, text) == []


def test_a_file_extends_another_relative_to_itself(tmp_path):
    (tmp_path / "low").mkdir()
    write(tmp_path / "low", '[[rule]]\nname = "a"\nallow = ["ls"]\n', "low.toml")
    high = policy(tmp_path, 'extends = ["low/low.toml"]\n[[rule]]\nname = "b"\nallow = ["pwd"]\n')
    assert [code(judge(high, word)) for word in ("ls", "pwd", "id")] == [
        "allow",
        "allow",
        "no-program@0",
    ]


def test_extending_in_a_circle_is_an_error(tmp_path):
    write(tmp_path, 'schema = 1\nname = "a"\nextends = ["b.toml"]\n', "a.toml")
    write(tmp_path, 'schema = 1\nname = "b"\nextends = ["a.toml"]\n', "b.toml")
    with pytest.raises(PolicyFileError, match="extends goes in a circle"):
        policies.load(tmp_path / "a.toml")


@pytest.mark.parametrize("other", ["builtin:nope", "nope.toml"])
def test_extending_what_does_not_exist_is_an_error_at_its_place(other, tmp_path):
    (fault,) = faults(tmp_path, f'extends = ["{other}"]\n')
    assert fault == f"3:12 {other} does not exist"


def test_a_policy_that_does_not_exist_names_the_profiles():
    with pytest.raises(PolicyFileError, match=r"built-in profiles: .*python-dev"):
        policies.load("nope")


def test_the_strictest_of_all_layers_holds_at_the_top(tmp_path):
    write(
        tmp_path,
        'schema = 1\nname = "low"\nisolation = "container"\n[limits]\nwall_seconds = 10\n'
        "memory_mib = 4096\n[budgets]\nsteps = 7\n",
        "low.toml",
    )
    found = policy(
        tmp_path,
        'extends = ["low.toml"]\nisolation = "namespace"\n'
        "[limits]\nwall_seconds = 90\n[budgets]\nsteps = 9\nper_tool = { run_command = 3 }\n",
    )
    assert (found.isolation, found.limits.wall_seconds, found.limits.memory_mib, found.budgets) == (
        Isolation.CONTAINER,
        10,
        4096,
        Budgets(steps=7, per_tool=(("run_command", 3),)),
    )


def test_redirections_are_those_that_every_layer_allows(tmp_path):
    write(tmp_path, 'schema = 1\nname = "low"\n[plan]\nredirect = ["read"]\n', "low.toml")
    found = policy(tmp_path, 'extends = ["low.toml"]\n[plan]\nredirect = ["read", "write"]\n')
    assert found.redirect == {"read"}


def test_a_later_file_may_not_redefine_a_rule_a_type_or_a_program(tmp_path):
    low = (
        'schema = 1\nname = "low"\n[types]\nX = "INT"\n[program.ls]\nstyle = "gnu"\n'
        '[[rule]]\nname = "r"\nallow = ["ls"]\n'
    )
    write(tmp_path, low, "low.toml")
    again = low.replace('name = "low"', 'name = "t"\nextends = ["low.toml"]')
    found = [fault.split(" ", 1)[1] for fault in faults(tmp_path, again)]
    assert [" ".join(fault.split()[:4]) for fault in found] == [
        "type 'X' is defined",
        "program 'ls' is defined",
        "rule 'r' is defined",
    ]


def test_a_later_file_may_drop_a_rule(tmp_path):
    write(
        tmp_path,
        'schema = 1\nname = "low"\n[[rule]]\nname = "a"\nallow = ["ls"]\nmatch = ["ls"]\n',
        "low.toml",
    )
    found = policy(tmp_path, 'extends = ["low.toml"]\ndrop = ["a"]\n')
    assert code(judge(found, "ls")) == "no-program@0"


def test_dropping_a_rule_that_is_not_there_is_an_error(tmp_path):
    assert faults(tmp_path, 'drop = ["a"]\n') == ["3:9 no earlier rule is named 'a'"]


def test_a_sealed_program_gets_no_more_lines_than_deny_lines(tmp_path):
    write(tmp_path, 'schema = 1\nname = "low"\nsealed = ["curl"]\n', "low.toml")
    text = (
        'extends = ["low.toml"]\n[[rule]]\nname = "r"\nallow = ["curl URL"]\ndeny = ["curl -o"]\n'
    )
    (fault,) = faults(tmp_path, text)
    assert fault.startswith("6:10 curl is sealed by")


def test_a_line_about_another_program_than_the_rule_is_an_error(tmp_path):
    (fault,) = faults(tmp_path, '[[rule]]\nname = "r"\nprogram = "git"\nallow = ["got log"]\n')
    assert fault == "6:10 the rule is about git, the line about got"


def test_global_options_are_spliced_in_behind_the_program(tmp_path):
    found = lines(tmp_path, "git log [--stat]", **{"global": "[-C DIR, --no-pager]"})
    assert [code(judge(found, *argv.split())) for argv in ("git -C a log", "git log -C a")] == [
        "allow",
        "option-place@2",
    ]


def test_own_types_may_be_joined(tmp_path):
    top = '[types]\nSRC = "PATH & RE(/src\\\\/.*/)"'
    found = lines(tmp_path, "cat SRC", top=top)
    assert [code(judge(found, "cat", w)) for w in ("src/a", "lib/a", "src/../../a")] == [
        "allow",
        "value-type@1",
        "path-escape@1",
    ]


def test_a_type_may_not_shadow_a_built_in_one(tmp_path):
    assert faults(tmp_path, '[types]\nPATH = "ANY"\n') == ["4:1 PATH is a built-in type"]


@pytest.mark.parametrize(
    "limit",
    [
        "wall_seconds = 0",
        "wall_seconds = -1",
        "wall_seconds = nan",
        "cpu_seconds = inf",
        "processes = 1.5",
        "memory_mib = true",
    ],
)
def test_no_limit_is_unlimited_or_nonsense(limit, tmp_path):
    assert len(faults(tmp_path, f"[limits]\n{limit}\n")) == 1


def test_the_digest_is_of_the_content_not_of_its_spelling(tmp_path):
    one = policy(tmp_path, '[[rule]]\nname = "r"\nallow = ["ls"]\n').digest
    same = policy(tmp_path, '# words\n[[rule]]\nallow   = [ "ls" ]\nname = "r"\n').digest
    other = policy(tmp_path, '[[rule]]\nname = "r"\nallow = ["ls [-l]"]\n').digest
    assert (one == same, one == other, one[:7]) == (True, False, "sha256:")


def test_a_rule_may_demand_more_than_the_file_and_never_less(tmp_path):
    found = lines(
        tmp_path,
        "ls",
        top='isolation = "namespace"\n[limits]\nwall_seconds = 20',
        isolation="container",
        runs_code=True,
    )
    verdict = judge(found, "ls")
    assert (
        verdict.conditions.isolation,
        verdict.runs_code,
        verdict.conditions.limits.wall_seconds,
    ) == (
        Isolation.CONTAINER,
        True,
        20,
    )
