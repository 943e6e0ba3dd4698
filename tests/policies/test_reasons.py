"""For every reason code one command that gets it, at its word, and a clean twin that does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from policies import LineError, Policy, parse_line
from policies.reasons import REASONS
from tests.policies.writing import code, judge, lines, policy

ELSEWHERE = {"ok", "program-digest", "network-unavailable"}  # decided where programs are started
LS = "ls [-l] [-n INT(1..9)] [--color[=ENUM(auto,never)]] [PATH...]"
LOG = "git log [--oneline|--stat] [-- PATH...]"
RM = "rm [-{rf}] PATH:rw"
XARGS = ("xargs [-0] CMD+", "grep TEXT [--] [PATH...]")
ENV = ("env [NAME=TEXT...] CMD", "ls")
DEEP = ("timeout INT CMD", "ls")
CASES: dict[str, tuple[tuple[str, ...], list[str], int, list[str]]] = {
    "empty-argv": ((LS,), [], 0, ["ls"]),
    "too-many-words": ((LS,), ["ls", *["a"] * 4096], 4096, ["ls", *["a"] * 4095]),
    "too-long": (("echo [TEXT(0..32768)]",), ["echo", "a" * 32769], 1, ["echo", "a" * 32768]),
    "nul": (("echo [TEXT]",), ["echo", "a\0"], 1, ["echo", "a"]),
    "not-text": (("echo [TEXT]",), ["echo", "a\udc80"], 1, ["echo", "aé"]),
    "program-path": ((LS,), ["/outside/ls"], 0, ["/usr/bin/ls"]),
    "no-program": ((LS,), ["lsx"], 0, ["ls"]),
    "no-subcommand": ((LOG,), ["git", "push"], 1, ["git", "log"]),
    "literal": (("cp a b",), ["cp", "a", "c"], 2, ["cp", "a", "b"]),
    "unknown-option": ((LS,), ["ls", "-x"], 1, ["ls", "-l"]),
    "option-place": (("git [-C DIR] log",), ["git", "log", "-C", "a"], 2, ["git", "log"]),
    "option-repeated": ((LS,), ["ls", "-l", "-l"], 2, ["ls", "-l"]),
    "option-conflict": ((LOG,), ["git", "log", "--stat", "--oneline"], 3, ["git", "log"]),
    "option-missing": (("git push (--force)",), ["git", "push"], 2, ["git", "push", "--force"]),
    "value-missing": ((LS,), ["ls", "-n"], 1, ["ls", "-n", "1"]),
    "value-unexpected": ((LS,), ["ls", "-l=1"], 1, ["ls", "-l"]),
    "value-type": ((LS,), ["ls", "-n", "x"], 2, ["ls", "-n", "1"]),
    "value-range": ((LS,), ["ls", "-n", "10"], 2, ["ls", "-n", "9"]),
    "dash-value": ((LS,), ["ls", "-n", "-1"], 2, ["ls", "-n", "1"]),
    "dash-operand": (("find [(-name LINE)...]",), ["find", "-name", "-x"], 2, ["find"]),
    "bundle": ((RM,), ["rm", "-rx", "a"], 1, ["rm", "-rf", "a"]),
    "end-marker": ((LS,), ["ls", "--", "a"], 1, ["ls", "a"]),
    "extra-operand": (("wc [PATH]",), ["wc", "a", "b"], 2, ["wc", "a"]),
    "missing-operand": (("wc PATH",), ["wc"], 1, ["wc", "a"]),
    "empty-word": ((LS,), ["ls", ""], 1, ["ls", "a"]),
    "control-char": ((LS,), ["ls", "a\nb"], 1, ["ls", "a b"]),
    "lookalike": ((LS,), ["ls", "\u2013l"], 1, ["ls", "l\u2013"]),
    "path-escape": ((LS,), ["ls", "../x"], 1, ["ls", "a/../x"]),
    "path-form": ((LS,), ["ls", "host:x"], 1, ["ls", "./host:x"]),
    "path-protected": ((RM,), ["rm", ".git/x"], 1, ["rm", ".gitx/x"]),
    "env-denied": (ENV, ["env", "LD_PRELOAD=x", "ls"], 1, ["env", "A=x", "ls"]),
    "unseen-words": (XARGS, ["xargs", "grep", "x"], 3, ["xargs", "grep", "x", "--"]),
    "inner-depth": (DEEP, [*["timeout", "1"] * 5, "ls"], 10, [*["timeout", "1"] * 4, "ls"]),
    "env-leading": ((LS,), ["A=1", "ls"], 0, ["ls"]),
}  # fmt: skip


@pytest.mark.parametrize("reason", CASES)
def test_a_command_gets_the_reason_at_its_word_and_its_twin_is_allowed(reason, tmp_path):
    texts, bad, word, twin = CASES[reason]
    top = '[program.find]\nstyle = "words"' if texts[0].startswith("find") else ""
    found = lines(tmp_path, *texts, top=top)
    assert (code(judge(found, *bad)), code(judge(found, *twin))) == (f"{reason}@{word}", "allow")


def rule(folder: Path, body: str, top: str = "") -> Policy:
    return policy(folder, f'{top}\n[[rule]]\nname = "r"\n{body}\n')


CONDITIONS = {
    "denied": ('allow = ["git push [REMOTE]"]\ndeny = ["git push a"]', "git push a", "git push b"),
    "cwd-denied": ('allow = ["ls"]\ncwd = ["src"]', "ls", "cd src && ls"),
    "redirect-denied": ('allow = ["ls"]\nredirect = ["read"]', "ls > a", "ls < a"),
}  # fmt: skip


@pytest.mark.parametrize("reason", CONDITIONS)
def test_a_condition_gets_its_reason_and_its_twin_is_allowed(reason, tmp_path):
    body, bad, twin = CONDITIONS[reason]
    found = rule(tmp_path, body, '[plan]\nredirect = ["read", "write"]')
    assert found.judge_plan(parse_line(bad)).reason == reason
    assert found.judge_plan(parse_line(twin)).decision.label == "allow"


def test_a_tool_that_no_line_names_is_denied_and_its_twin_is_not(tmp_path):
    found = policy(tmp_path, '[tools]\nallow = ["read_file PATH"]')
    got = [found.judge_tool(name, ("a",)).reason for name in ("write_file", "read_file")]
    assert got == ["tool-denied", "ok"]


LINES: dict[str, tuple[str, int | None, str]] = {
    "plan:variable": ("echo a$HOME", 6, "echo 'a$HOME'"),
    "plan:substitution": ("echo a$(id)", 6, "echo 'a$(id)'"),
    "plan:process-substitution": ("diff <(ls) a", 5, "diff a b"),
    "plan:heredoc-expansion": ("cat <<E\n$X\nE", None, "cat <<'E'\n$X\nE"),
    "plan:heredoc-unterminated": ("cat <<E", 4, "cat <<E\nE"),
    "plan:herestring": ("cat <<< x", 4, "cat < x"),
    "plan:background": ("ls &", 3, "ls"),
    "plan:subshell": ("(ls)", 0, "ls"),
    "plan:keyword": ("for f in a; do ls; done", 0, "ls for"),
    "plan:builtin": ("eval ls", 0, "ls eval"),
    "plan:cd": ("cd", 0, "cd src"),
    "plan:brace": ("cp a{,.bak}", 4, "cp 'a{,.bak}'"),
    "plan:tilde": ("cat ~root/x", 4, "cat '~root/x'"),
    "plan:descriptor": ("ls 3> x", 3, "ls 2> x"),
    "plan:clobber": ("ls >| x", 3, "ls > x"),
    "plan:redirect-target": ("ls >", None, "ls > x"),
    "plan:ansi-quote": ("echo $'a'", 5, "echo 'a'"),
    "plan:quote": ("echo 'x", 5, "echo 'x'"),
    "plan:control-char": ("echo a\x01", 6, "echo a"),
    "plan:empty-stage": ("ls &&", 5, "ls && ls"),
    "plan:too-long": ("echo " + "a" * (2 << 20), None, "echo a"),
    "plan:heredoc-too-long": (f"cat <<'E'\n{'a' * (1 << 20)}\nE", 4, "cat <<'E'\na\nE"),
    "plan:assignment-only": ("FOO=1", 5, "FOO=1 ls"),
}


@pytest.mark.parametrize("reason", LINES)
def test_a_line_gets_the_reason_at_its_column_and_its_twin_is_read(reason):
    bad, column, twin = LINES[reason]
    with pytest.raises(LineError) as caught:
        parse_line(bad)
    assert caught.value.reason == reason
    assert column is None or caught.value.column == column
    assert parse_line(twin).steps


def test_every_reason_code_has_its_pair():
    covered = {*CASES, *CONDITIONS, "tool-denied"}
    assert set(REASONS) - covered == ELSEWHERE
    source = Path(__file__).parents[2] / "policies" / "commandline"
    text = "".join(path.read_text() for path in source.glob("*.py"))
    written = set(re.findall(r'"(plan:[a-z-]+)"', text))
    assert written - set(LINES) == set()
