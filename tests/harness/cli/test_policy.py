"""``stockade policy``: what it prints and how it exits."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from harness.cli.entry import run_command

GOOD = """schema = 1
name = "t"
[[rule]]
name = "r"
allow = ["ls [-l] [--] [PATH...]"]
match = ["ls -l"]
not_match = ["ls -x"]
"""
BAD = 'schema = 1\nname = "t"\n[[rule]]\nname = "r"\nallow = ["ls [-l"]\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "t.toml"
    path.write_text(GOOD)
    return path


def run(*argv: object) -> int:
    return run_command(["policy", *map(str, argv)])


def test_a_good_file_is_checked_with_zero(file: Path, capsys) -> None:
    assert run("check", file) == 0
    assert capsys.readouterr().out == f"{file}: 1 rules, 1 lines, 2 examples hold\n"


def test_a_broken_file_exits_with_two_and_shows_the_place(file: Path, capsys) -> None:
    file.write_text(BAD)
    assert run("check", "--json", file) == 2
    shown = capsys.readouterr()
    (fault,) = json.loads(shown.out)["policies"][0]["faults"]
    assert (fault["line"], fault["column"], fault["message"]) == (5, 14, "the group is not closed")
    assert f"{file}:5:14: error" in shown.err


@pytest.mark.parametrize("command", ["show", "explain", "lint", "judge", "test"])
def test_every_command_exits_with_two_for_a_broken_file(
    command, file, tmp_path, capsys, monkeypatch
):
    file.write_text(BAD)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    more = {"explain": ["--", "ls"], "test": [str(file)]}.get(command, [])
    assert run(command, "--policy", file, *more) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_judge_answers_each_line_with_one_line(file, capsys, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('["ls"]\n\n{"line": "ls | rm"}\n'))
    assert run("judge", "--policy", file) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(a["decision"], a["reason"]) for a in answers] == [
        ("allow", "ok"),
        ("deny", "no-program"),
    ]


def test_explain_exits_with_one_for_a_denial_and_offers_the_edit(file, capsys) -> None:
    assert run("explain", "--policy", file, "--json", "--", "ls", "-r") == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["reason"], document["edits"][0]["to"]) == ("unknown-option", " [-r]")
    assert run("explain", "--policy", file, "--", "ls", "-l") == 0


def test_explain_points_into_a_line_that_cannot_be_read(file, capsys) -> None:
    assert run("explain", "--policy", file, "--line", "ls $X") == 1
    assert capsys.readouterr().out.splitlines()[1:] == ["  ls $X", "     ^"]


def test_lint_exits_with_one_for_findings_and_speaks_sarif(file, capsys) -> None:
    assert run("lint", file) == 0
    file.write_text(GOOD.replace("[PATH...]", "[ANY...]"))
    file.write_text(file.read_text().replace('not_match = ["ls -x"]\n', ""))
    assert run("lint", "--format", "sarif", file) == 1
    assert json.loads(capsys.readouterr().out)["version"] == "2.1.0"


def test_fmt_changes_a_file_once(file, capsys) -> None:
    file.write_text(GOOD.replace("ls [-l]", "ls  [-l ]"))
    assert [run("fmt", "--check", file), run("fmt", file), run("fmt", "--check", file)] == [1, 0, 0]
    assert file.read_text() == GOOD


def test_show_and_list_and_schema_are_json(file, capsys) -> None:
    assert run("show", "--policy", file, "--json") == 0
    assert json.loads(capsys.readouterr().out)["lines"][0]["line"] == 5
    assert run("list", "--json") == 0
    assert "python-dev" in {p["name"] for p in json.loads(capsys.readouterr().out)["profiles"]}
    assert run("schema") == 0
    assert json.loads(capsys.readouterr().out)["title"] == "stockade policy"


def test_fixtures_that_fail_exit_with_one(file, tmp_path, capsys) -> None:
    cases = tmp_path / "cases.toml"
    cases.write_text('[[case]]\nargv = "ls"\ndecision = "deny"\n')
    assert run("test", "--policy", file, "--junit", tmp_path / "j.xml", cases) == 1
    assert 'failures="1"' in (tmp_path / "j.xml").read_text()


def log(folder: Path, *lines: object) -> Path:
    path = folder / "commands.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_diff_exits_with_one_for_a_difference_and_fails_on_widening_alone(file, tmp_path, capsys):
    wider = tmp_path / "wider.toml"
    wider.write_text(GOOD.replace("[-l]", "[-l, -r]"))
    assert [run("diff", file, file), run("diff", file, wider)] == [0, 1]
    assert [run("diff", "--fail-on", "widen", a, b) for a, b in ((file, wider), (wider, file))] == [
        1,
        0,
    ]
    assert "widened: ls -r: deny -> allow (made up)" in capsys.readouterr().out


def test_coverage_and_suggest_read_recorded_commands(file, tmp_path, capsys):
    recorded = log(tmp_path, ["ls", "-l"], {"line": "head -n 5 a.py | wc -l"})
    assert run("coverage", "--policy", file, "--json", recorded) == 0
    found = json.loads(capsys.readouterr().out)
    assert ([line["count"] for line in found["lines"]], len(found["denied"])) == ([1], 2)
    assert run("suggest", recorded) == 0
    suggested = tmp_path / "suggested.toml"
    suggested.write_text(capsys.readouterr().out)
    assert run("check", suggested) == 0
    assert run("coverage", "--policy", suggested, "--rejudge", recorded) == 0


def test_logs_of_another_policy_need_rejudge(file, tmp_path, capsys):
    call = {"type": "tool/call", "name": "run_command", "arguments": '{"argv": ["ls"]}'}
    recorded = log(tmp_path, call, {"type": "tool/verdict", "policy": "sha256:0"})
    assert run("coverage", "--policy", file, recorded) == 2
    assert run("coverage", "--policy", file, "--rejudge", recorded) == 0


def test_import_reports_every_loss_and_exits_with_one_when_something_is_refused(tmp_path, capsys):
    settings = tmp_path / "settings.json"
    settings.write_text('{"permissions": {"allow": ["Bash(ls:*)", "Bash"]}}')
    assert run("import", "--from", "claude", settings) == 1
    shown = capsys.readouterr()
    assert 'allow = ["ls [ANY...]"]' in shown.out
    assert f"{settings}: line 1: error: everything" in shown.err


DEEP = "[" * 5000 + "]" * 5000


def test_a_line_that_cannot_be_read_is_answered_and_the_others_are_judged(
    file, capsys, monkeypatch
) -> None:
    lines = ['["ls"]', DEEP, '{"argv": ' + "9" * 5000 + "}", '["ls", "-x"]']
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    assert run("judge", "--policy", file) == 2
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["decision"], one["message"][:6]) for one in found] == [
        ("allow", ""),
        ("deny", "line 2"),
        ("deny", "line 3"),
        ("deny", found[3]["message"][:6]),
    ]
    assert found[3]["reason"] != "not-a-request"


@pytest.mark.parametrize("command", ["show", "lint", "judge"])
@pytest.mark.parametrize("text", [f"a = {DEEP}", "a = " + "9" * 5000], ids=["deep", "long number"])
def test_a_policy_that_no_parser_can_take_in_is_a_broken_file(
    command: str, text: str, file, capsys, monkeypatch
) -> None:
    file.write_text(text)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert run(command, "--policy", file) == 2
    assert "not TOML" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["claude", "codex", "gemini"])
def test_foreign_rules_that_no_parser_can_take_in_are_reported(
    kind: str, tmp_path: Path, capsys
) -> None:
    source = tmp_path / "foreign"
    source.write_text(DEEP if kind == "claude" else f"a = {DEEP}")
    assert run("import", "--from", kind, source) == 1
    said = capsys.readouterr()
    assert ("cannot be read" in said.err + said.out, "internal error" in said.err) == (True, False)
