"""Command lines as plans: what is read, and what is refused by name."""

from __future__ import annotations

import pytest

from policies import (
    Cd,
    FromFile,
    FromText,
    LineError,
    NullDevice,
    Pipeline,
    Plan,
    Stage,
    ToFile,
    ToStdout,
    parse_line,
)


def stages(line: str) -> list[Stage]:
    return [
        stage
        for step in parse_line(line).steps
        if isinstance(step, Pipeline)
        for stage in step.stages
    ]


def refusal(line: str) -> tuple[str, int]:
    with pytest.raises(LineError) as caught:
        parse_line(line)
    return caught.value.reason, caught.value.column


def test_links_and_pipes_are_structure():
    assert parse_line("a | b && c || d; e") == Plan(
        (
            Pipeline((Stage(("a",)), Stage(("b",)))),
            Pipeline((Stage(("c",)),)),
            Pipeline((Stage(("d",)),)),
            Pipeline((Stage(("e",)),)),
        ),
        ("&&", "||", ";"),
    )


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        (r"a 'b c' \d \  ''", ("a", "b c", "d", " ", "")),
        (r'a "b \" \$ \\ \x `"'.replace("`", ""), ("a", 'b " $ \\ \\x ')),
        ("a b\\\nc", ("a", "bc")),
        ("a 'b\nc'", ("a", "b\nc")),
        ("a x#y # z", ("a", "x#y")),
        ("a $ x$", ("a", "$", "x$")),
        ('a "$" "x$"', ("a", "$", "x$")),
        ("a {} {x} x@{1}", ("a", "{}", "{x}", "x@{1}")),
        (": a", ("true", "a")),
        ("command -v git", ("which", "git")),
        ("a 'x'\"y\"z", ("a", "xyz")),
        ("a a~b", ("a", "a~b")),
        ('"A=1" b', ("A=1", "b")),
        ("a é", ("a", "é")),
        ("a --include=*.py", ("a", "--include=*.py")),
    ],
)
def test_words_are_read_with_their_quotes_taken_off(line, argv):
    assert [stage.argv for stage in stages(line)] == [argv]


@pytest.mark.parametrize(
    ("line", "stage"),
    [
        ("a < f", Stage(("a",), stdin=FromFile("f"))),
        ("a > f", Stage(("a",), stdout=ToFile("f"))),
        ("a 1>f", Stage(("a",), stdout=ToFile("f"))),
        ("> f a", Stage(("a",), stdout=ToFile("f"))),
        ("a >> f", Stage(("a",), stdout=ToFile("f", append=True))),
        ("a 2>f", Stage(("a",), stderr=ToFile("f"))),
        ("a 2>>f", Stage(("a",), stderr=ToFile("f", append=True))),
        ("a 2>&1", Stage(("a",), stderr=ToStdout())),
        ("a &> f", Stage(("a",), stdout=ToFile("f"), stderr=ToStdout())),
        ("a &>> f", Stage(("a",), stdout=ToFile("f", append=True), stderr=ToStdout())),
        ("a > f 2>&1", Stage(("a",), stdout=ToFile("f"), stderr=ToStdout())),
        (
            "a < /dev/null > /dev/null 2>/dev/null",
            Stage(("a",), stdin=NullDevice(), stdout=NullDevice(), stderr=NullDevice()),
        ),
        ("A=1 B= a", Stage(("a",), (("A", "1"), ("B", "")))),
        ("export A=1; a", Stage(("a",), (("A", "1"),))),
        ("A=1 A=2 a", Stage(("a",), (("A", "2"),))),
    ],
)
def test_redirections_and_assignments_belong_to_their_stage(line, stage):
    assert stages(line) == [stage]


def test_an_error_pipe_is_both_streams():
    assert stages("a |& b") == [Stage(("a",), stderr=ToStdout()), Stage(("b",))]


@pytest.mark.parametrize(
    ("line", "data"),
    [
        ("a <<'E'\nx $y `z` \\n\nE", b"x $y `z` \\n\n"),
        ('a <<"E"\n$x\nE\n', b"$x\n"),
        ("a <<E\nplain\nE", b"plain\n"),
        ("a <<-'E'\n\t\tx\n\ty\n\tE", b"x\ny\n"),
        ("a <<'E' > f\nx\nE", b"x\n"),
        ("a <<'E'\nE", b""),
        ("a << 'E F'\nx\nE F", b"x\n"),
        ("a <<\\E\n$x\nE", b"$x\n"),
    ],
)
def test_a_heredoc_is_data_for_the_standard_input(line, data):
    assert stages(line)[0].stdin == FromText(data)


def test_two_heredocs_of_one_line_follow_each_other_and_the_line_goes_on():
    first, second, third = stages("a <<'X' && b <<'Y' | c\n1\nX\n2\nY\n")
    assert (first.stdin, second.stdin, third.stdin) == (FromText(b"1\n"), FromText(b"2\n"), None)


def test_newlines_join_like_semicolons_and_comments_are_skipped():
    assert parse_line("# first\na\n\n# second\nb # tail\n") == parse_line("a; b")


def test_a_line_goes_on_after_an_operator():
    assert parse_line("a &&\nb |\n  c") == parse_line("a && b | c")


def test_globs_are_marked_and_quoted_characters_in_them_stand_for_themselves():
    (stage,) = stages("ls *.py '*.py' a\\*b 'x*'*.c [ab] a[ -n*")
    assert (stage.argv, stage.globs) == (
        ("ls", "*.py", "*.py", "a*b", "x[*]*.c", "[ab]", "a[", "-n*"),
        (1, 4, 5),
    )


def test_cd_is_structure_and_tilde_the_home():
    plan = parse_line("cd src 2>/dev/null; cat ~/x ~", cwd="lib", home="/h")
    assert plan == Plan((Cd("src"), Pipeline((Stage(("cat", "/h/x", "/h")),))), (";",), "lib")


def test_a_name_that_the_line_sets_may_be_used_in_it():
    assert stages("D=src; ls $D \"${D}/x\" '$D'") == [Stage(("ls", "src", "src/x", "$D"))]


@pytest.mark.parametrize(
    "line",
    [
        "D=src ls $D",
        "ls $D",
        "false && D=src; ls $D",
        "D=x | ls; ls $D",
        "D='a b'; ls $D",
        "D=$E; ls $D",
        "D=src; ls ${D%c}",
    ],
)
def test_a_name_that_is_not_certain_is_refused(line):
    assert refusal(line)[0] in ("plan:variable", "plan:assignment-only")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cd a || b", ("plan:cd", 0)),
        ("cd", ("plan:cd", 0)),
        ("cd -", ("plan:cd", 0)),
        ("cd a b", ("plan:cd", 0)),
        ("a | cd b", ("plan:cd", 4)),
        ("a && cd b; c", ("plan:cd", 9)),
        ("a || cd b", ("plan:cd", 5)),
        ("source x", ("plan:builtin", 0)),
        (". x", ("plan:builtin", 0)),
        ("eval x", ("plan:builtin", 0)),
        ("a; exit 1", ("plan:builtin", 3)),
        ("set -e; a", ("plan:builtin", 0)),
        ("export A", ("plan:builtin", 7)),
        ("a >| b", ("plan:clobber", 2)),
        ("a <> b", ("plan:descriptor", 2)),
        ("a >&2", ("plan:descriptor", 2)),
        ("a 2>&1 > b", ("plan:descriptor", 7)),
        ("a > b > c", ("plan:redirect-target", 6)),
        ("a >", ("plan:redirect-target", 2)),
        ("a > b | c", ("plan:redirect-target", 6)),
        ("a | b < c", ("plan:redirect-target", 2)),
        ("a > *", ("plan:glob", 4)),
        ("* a", ("plan:glob", 0)),
        ("a {1..3}", ("plan:brace", 2)),
        ("a\x01b", ("plan:control-char", 1)),
        ("", ("plan:empty-stage", 0)),
        ("| a", ("plan:empty-stage", 0)),
        ("a | | b", ("plan:empty-stage", 4)),
        ("a ;; b", ("plan:keyword", 2)),
        ("a &", ("plan:background", 2)),
        ("f() { a; }", ("plan:subshell", 1)),
        ("while a", ("plan:keyword", 0)),
        ("[[ -f a ]]", ("plan:keyword", 0)),
        ('a "b', ("plan:quote", 2)),
        ("a \\", ("plan:quote", 2)),
        ("a $1", ("plan:variable", 2)),
        ("a $?", ("plan:variable", 2)),
        ("a $((1))", ("plan:substitution", 2)),
        ("a > $X", ("plan:variable", 4)),
        ("cat <<E\n$x\nE", ("plan:heredoc-expansion", 8)),
        ("a > >(b)", ("plan:process-substitution", 4)),
        ("A+=1 b", ("plan:variable", 0)),
        ("a\0", ("plan:control-char", 1)),
        ("a <<", ("plan:heredoc-unterminated", 2)),
    ],
)
def test_what_only_a_shell_could_do_is_refused_by_name(line, expected):
    assert refusal(line) == expected


def test_a_heredoc_is_at_most_a_mebibyte():
    assert refusal("a <<'E'\n" + "x" * (1 << 20) + "\nE")[0] == "plan:heredoc-too-long"


def test_a_refusal_says_what_to_write_instead():
    with pytest.raises(LineError, match=r"single quotes.*plan:variable, column 5"):
        parse_line("echo $HOME")
