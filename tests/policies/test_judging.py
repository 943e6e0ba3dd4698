"""Verdicts: what is decided, under which conditions, and what is left to check at run time."""

from __future__ import annotations

import pytest

import policies
from policies import (
    Command,
    Decision,
    FromFile,
    Isolation,
    PathCheck,
    Pipeline,
    Plan,
    Stage,
    ToFile,
)
from tests.policies.writing import code, judge, lines, policy

PATHS = "cat (PATH|-)..."


@pytest.mark.req("S-122", "S-123", "S-127")
@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("a/b", "allow"),
        ("a/../b", "allow"),
        ("../x", "path-escape@1"),
        ("a/../../x", "path-escape@1"),
        ("/workspace/a", "allow"),
        ("/workspace", "allow"),
        ("/workspacex", "path-escape@1"),
        ("/workspace/../etc", "path-escape@1"),
        ("/etc/passwd", "path-escape@1"),
        ("", "empty-word@1"),
        ("~", "path-form@1"),
        ("@x", "path-form@1"),
        ("a:b", "path-form@1"),
        ("a=b", "path-form@1"),
        ("./a:b", "allow"),
        ("|x", "path-form@1"),
        ("-", "allow"),
        ("a\u200bb", "control-char@1"),
        ("é", "allow"),
        ("\u2212x", "lookalike@1"),
        ("a\u202eb", "control-char@1"),
    ],
)
def test_a_path_stays_below_the_workspace(word, expected, tmp_path):
    assert code(judge(lines(tmp_path, PATHS), "cat", word)) == expected


@pytest.mark.parametrize(
    ("cwd", "word", "expected"),
    [
        ("src", "../x", "allow"),
        ("src", "../../x", "path-escape@1"),
        ("/workspace/a/b", "../../x", "allow"),
        ("..", "x", "cwd-denied@0"),
        ("/etc", "x", "cwd-denied@0"),
    ],
)
def test_a_path_is_read_from_the_folder_the_command_starts_in(cwd, word, expected, tmp_path):
    assert code(judge(lines(tmp_path, PATHS), "cat", word, cwd=cwd)) == expected


def test_another_workspace_root_counts_instead(tmp_path):
    found = lines(tmp_path, PATHS)
    assert code(judge(found, "cat", "/testbed/a", root="/testbed")) == "allow"
    assert code(judge(found, "cat", "/workspace/a", root="/testbed")) == "path-escape@1"


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        "a/.git/hooks/x",
        ".github/workflows/ci.yml",
        "x/../.hg",
        ".vscode",
        "./.stockade/x",
    ],
)
def test_protected_places_are_not_written(path, tmp_path):
    assert code(judge(lines(tmp_path, "touch PATH:rw"), "touch", path)) == "path-protected@1"


def test_protected_places_are_read_and_their_neighbours_written(tmp_path):
    found = lines(tmp_path, "touch PATH:rw", "cat PATH")
    argvs = [("cat", ".git/config"), ("touch", ".github/x"), ("touch", ".gitignore")]
    assert [code(judge(found, *argv)) for argv in argvs] == ["allow"] * 3


def test_a_folder_inside_a_protected_place_is_protected_as_a_start(tmp_path):
    assert (
        code(judge(lines(tmp_path, "touch PATH:rw"), "touch", "x", cwd=".git"))
        == "path-protected@1"
    )


def test_names_may_be_protected_and_released(tmp_path):
    found = lines(
        tmp_path, "touch PATH:rw", top='[protect]\nadd = ["Makefile"]\nremove = [".idea"]'
    )
    assert [code(judge(found, "touch", w)) for w in ("Makefile", ".idea/x")] == [
        "path-protected@1",
        "allow",
    ]


def test_paths_are_handed_on_for_a_check_inside_the_box(tmp_path):
    found = lines(tmp_path, "cp [-t DIR:rw] FILE... DIR:rw")
    assert judge(found, "cp", "-t", "x", "a", "b", "c").checks == (
        PathCheck(2, "x", "dir", True),
        PathCheck(3, "a", "file"),
        PathCheck(4, "b", "file"),
        PathCheck(5, "c", "dir", True),
    )


def test_a_word_that_two_lines_read_differently_is_checked_as_a_mere_path(tmp_path):
    found = lines(tmp_path, "show REV", "show FILE")
    assert judge(found, "show", "main").checks == (PathCheck(1, "main", "path"),)


def test_a_path_behind_a_fixed_prefix_is_checked_without_it(tmp_path):
    found = lines(tmp_path, "dd (if=FILE|of=PATH:rw)...")
    assert judge(found, "dd", "if=a", "of=b").checks == (
        PathCheck(1, "a", "file"),
        PathCheck(2, "b", "path", True),
    )
    assert code(judge(found, "dd", "of=../b")) == "path-escape@1"


def test_ask_beats_allow_and_deny_beats_both(tmp_path):
    found = lines(
        tmp_path, "git push [REMOTE] [REF]", ask=["git push REMOTE"], deny=["git push (-f|--force)"]
    )
    argvs = ("git push", "git push origin", "git push origin main", "git push --fo origin")
    assert [code(judge(found, *argv.split())) for argv in argvs] == [
        "allow",
        "ask",
        "allow",
        "denied@0",
    ]


@pytest.mark.parametrize(
    "argv",
    [
        "git push -f",
        "git push -qf",
        "git push --force",
        "git push --forc",
        "git push --force=x",
        "git -C a push x -f",
        "git commit -m push --force",
    ],
)
def test_a_deny_line_covers_every_spelling_of_what_it_writes(argv, tmp_path):
    found = lines(tmp_path, "git ANY...", deny=["git push (-f|--force)"])
    assert code(judge(found, *argv.split())) == "denied@0"


@pytest.mark.parametrize(
    "argv", ["git push", "git -f", "git push -n", "git push --follow-tags", "git commit -m x"]
)
def test_a_deny_line_covers_nothing_else(argv, tmp_path):
    found = lines(tmp_path, "git ANY...", deny=["git push (-f|--force)"])
    assert code(judge(found, *argv.split())) == "allow"


def test_an_inner_deny_line_denies_the_whole(tmp_path):
    found = lines(tmp_path, "timeout INT CMD", "timeout ANY...", "ls", deny=["ls"])
    assert code(judge(found, "timeout", "5", "ls")) == "denied@2"


def test_an_inner_ask_asks_for_the_whole(tmp_path):
    found = lines(tmp_path, "timeout INT CMD", ask=["ls"])
    assert code(judge(found, "timeout", "5", "ls")) == "ask"


def test_conditions_of_all_lines_that_match_are_joined_strictest(tmp_path):
    rules = (
        '[[rule]]\nname = "a"\nallow = ["ls [-l]"]\nisolation = "namespace"\n'
        'network = ["x.org", "y.org"]\n'
        "limits = { wall_seconds = 50, memory_mib = 10 }\n"
        '[[rule]]\nname = "b"\nallow = ["ls"]\nisolation = "container"\n'
        'network = ["y.org"]\nruns_code = true\n'
        "limits = { wall_seconds = 5 }\n"
    )
    verdict = judge(policy(tmp_path, rules), "ls")
    got = verdict.conditions
    assert (
        got.isolation,
        got.network,
        got.limits.wall_seconds,
        got.limits.memory_mib,
        verdict.runs_code,
    ) == (
        Isolation.CONTAINER,
        ("y.org",),
        5,
        10,
        True,
    )


def test_conditions_of_inner_commands_count_too(tmp_path):
    rules = (
        '[[rule]]\nname = "a"\nallow = ["timeout INT CMD"]\n'
        '[[rule]]\nname = "b"\nallow = ["make"]\nisolation = "container"\nruns_code = true\n'
    )
    verdict = judge(policy(tmp_path, rules), "timeout", "5", "make")
    assert (verdict.conditions.isolation, verdict.runs_code) == (Isolation.CONTAINER, True)


def test_a_wrapper_leaves_the_network_to_the_command_inside(tmp_path):
    rules = (
        '[[rule]]\nname = "a"\nallow = ["timeout INT CMD"]\n'
        '[[rule]]\nname = "b"\nallow = ["curl URL"]\nnetwork = ["a.org"]\n'
    )
    verdict = judge(policy(tmp_path, rules), "timeout", "5", "curl", "https://a.org")
    assert verdict.conditions.network == ("a.org",)


def test_assignments_need_a_rule_that_names_them(tmp_path):
    found = lines(tmp_path, "make", env={"DEBUG": "INT(0..1)"})

    def env(*pairs):
        return code(found.judge(Command(("make",), env=pairs)))

    assert [env(("DEBUG", "1")), env(("DEBUG", "2")), env(("PATH", "."))] == [
        "allow",
        "env-denied@0",
        "env-denied@0",
    ]


def test_a_rule_may_say_where_it_starts_and_how_long_it_is(tmp_path):
    found = lines(tmp_path, "ls [PATH...]", cwd=["src"], max_words=3)
    got = [
        judge(found, "ls", cwd="src/a"),
        judge(found, "ls"),
        judge(found, "ls", "a", "b", "c", cwd="src"),
    ]
    assert [code(verdict) for verdict in got] == ["allow", "cwd-denied@0", "too-many-words@3"]


def test_forced_variables_come_with_the_verdict(tmp_path):
    found = lines(tmp_path, "git log", set_env={"A": "1"}, top='[program.git]\nenv = { B = "2" }')
    assert judge(found, "git", "log").conditions.env == (("A", "1"), ("B", "2"))


@pytest.mark.req("S-134")
@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("git", "allow"),
        ("/usr/bin/git", "allow"),
        ("/outside/git", "program-path@0"),
        ("./git", "program-path@0"),
        ("bin/git", "program-path@0"),
        ("GIT", "no-program@0"),
        ("A=1", "env-leading@0"),
        ("", "no-program@0"),
        ("/usr/bin/../bin/git", "program-path@0"),
        ("/usr/local/bin/rm", "no-program@0"),
    ],
)
def test_a_program_is_known_by_its_name_alone(word, expected, tmp_path):
    assert code(judge(lines(tmp_path, "git log"), word, "log")) == expected


def test_a_workspace_program_needs_its_own_line(tmp_path):
    found = lines(
        tmp_path,
        "./<FILE> [ANY...]",
        "python FILE",
        runs_code=True,
        isolation="namespace",
        top='[program.python]\nworkspace = [".venv/bin/python"]',
    )
    argvs = [
        "./run.sh -x",
        "./../run.sh",
        "run.sh",
        ".venv/bin/python a.py",
        "/workspace/.venv/bin/python a.py",
        "other/python a.py",
    ]
    assert [code(judge(found, *argv.split())) for argv in argvs] == [
        "allow",
        "path-escape@0",
        "no-program@0",
        "allow",
        "allow",
        "program-path@0",
    ]
    verdict = judge(found, "./run.sh")
    assert (verdict.program, verdict.search, verdict.checks) == (
        "./run.sh",
        (),
        (PathCheck(0, "./run.sh", "file"),),
    )


def test_other_names_of_a_program_have_its_lines(tmp_path):
    found = lines(
        tmp_path,
        "python FILE",
        top='[program.python]\nalso = ["python3"]\npaths = ["/usr/bin/python3.11"]',
    )
    verdict = judge(found, "python3", "a.py")
    assert (code(verdict), verdict.program, verdict.paths) == (
        "allow",
        "python3",
        ("/usr/bin/python3.11",),
    )


def test_a_denial_names_the_rule_the_word_and_what_was_expected():
    verdict = policies.load("python-dev").judge(Command(("git", "-c", "core.pager=id", "log")))
    assert (verdict.reason, verdict.word, verdict.rule) == ("unknown-option", 1, "git-read")
    assert "word 1 '-c'" in verdict.message
    assert "git-read" in verdict.message


@pytest.mark.req("S-137")
def test_shell_characters_are_ordinary_text_in_a_word(tmp_path):
    found = lines(tmp_path, "echo TEXT...")
    assert code(judge(found, "echo", ";", "rm", "$(id)", "a|b", "`id`")) == "allow"


# -- plans


def plan(*stages: Stage) -> Plan:
    return Plan((Pipeline(stages),))


def test_one_denied_stage_denies_the_plan_and_one_asked_asks_for_it(tmp_path):
    found = lines(tmp_path, "ls", ask=["rm PATH"])
    ls, rm, cat = Stage(("ls",)), Stage(("rm", "a")), Stage(("cat",))
    got = [found.judge_plan(p) for p in (plan(ls, ls), plan(ls, rm), plan(ls, rm, cat))]
    assert [(v.decision, v.reason, v.stage, len(v.stages)) for v in got] == [
        (Decision.ALLOW, "ok", 0, 2),
        (Decision.ASK, "ok", 0, 2),
        (Decision.DENY, "no-program", 2, 3),
    ]


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (Stage(("ls",), stdout=ToFile("out")), "ok"),
        (Stage(("ls",), stdout=ToFile("../out")), "path-escape"),
        (Stage(("ls",), stderr=ToFile(".git/x")), "path-protected"),
        (Stage(("ls",), stdin=FromFile("a")), "redirect-denied"),
    ],
)
def test_redirections_are_judged_like_reading_and_writing(stage, expected, tmp_path):
    found = lines(tmp_path, "ls", top='[plan]\nredirect = ["write"]')
    assert found.judge_plan(plan(stage)).reason == expected


def test_a_rule_may_narrow_its_redirections_and_its_input(tmp_path):
    found = lines(
        tmp_path, "ls", redirect="none", stdin="none", top='[plan]\nredirect = ["read", "write"]'
    )
    stages = [
        plan(Stage(("ls",))),
        plan(Stage(("ls",), stdout=ToFile("a"))),
        plan(Stage(("ls",)), Stage(("ls",))),
    ]
    assert [found.judge_plan(p).reason for p in stages] == [
        "ok",
        "redirect-denied",
        "redirect-denied",
    ]


# -- tools


def test_tools_are_judged_over_their_paths_and_silence_denies():
    found = policies.load("python-dev")
    calls = [
        ("read_file", ["a"]),
        ("write_file", ["../a"]),
        ("edit_file", [".git/x"]),
        ("host_tool", []),
        ("read_file", ["/etc/passwd"]),
    ]
    assert [found.judge_tool(name, paths).reason for name, paths in calls] == [
        "ok",
        "path-escape",
        "path-protected",
        "tool-denied",
        "path-escape",
    ]


@pytest.mark.parametrize("tool", ["write_file", "edit_file", "apply_patch"])
def test_readonly_allows_no_writing_tool(tool):
    assert policies.load("readonly").judge_tool(tool, ["a"]).decision is Decision.DENY


def test_readonly_redirects_nothing_into_a_file():
    verdict = policies.load("readonly").judge_plan(plan(Stage(("ls",), stdout=ToFile("a"))))
    assert verdict.reason == "redirect-denied"


@pytest.mark.parametrize("word", ["-ab", "-n5", "-5", "--depth=5", "-bn5"])
def test_a_verdict_does_not_depend_on_what_was_judged_before(word, tmp_path):
    line = "prog [-{ab,n INT}] [-<INT(1..9)>] [--depth=INT] sub [-x] [PATH...]"
    found = lines(tmp_path, line)
    before = judge(found, "prog", "sub", word)
    assert code(judge(found, "prog", word, "sub")) == "allow"
    assert judge(found, "prog", "sub", word) == before
    assert before.decision is Decision.DENY


@pytest.mark.parametrize("word", ["-n5", "-5", "--depth=5"])
def test_an_option_with_its_value_is_counted_each_time(word, tmp_path):
    found = lines(tmp_path, "prog [-n<INT>] [-<INT(1..9)>] [--depth=INT]")
    reasons = [code(judge(found, "prog", *words)) for words in [(word,), (word, word)] * 2]
    assert reasons == ["allow", "option-repeated@2"] * 2
