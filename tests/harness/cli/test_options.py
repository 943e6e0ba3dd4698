"""Numbers and files on the command line."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from harness.cli.batch import written
from harness.cli.entry import run_command
from harness.cli.options import NEW_FILE

NOT_FINITE = ["nan", "NaN", "inf", "-inf", "1e999"]
NUMBERS = [
    ("run", "--timeout"),
    ("exec", "--timeout"),
    ("batch", "--timeout"),
    ("batch", "--deadline"),
    ("batch", "--min-pass"),
]


@pytest.mark.parametrize("value", NOT_FINITE)
@pytest.mark.parametrize(("command", "flag"), NUMBERS)
def test_a_number_is_finite(command: str, flag: str, value: str, capsys, tmp_path: Path) -> None:
    code = run_command([command, f"{flag}={value}", str(tmp_path)])
    assert (code, f"'{flag}'" in capsys.readouterr().err) == (125 if command == "exec" else 2, True)


@pytest.mark.parametrize("value", NOT_FINITE)
def test_an_age_in_days_is_finite(value: str, capsys) -> None:
    assert run_command(["runs", "prune", "--dry-run", f"--older-than={value}"]) == 2
    assert "'--older-than'" in capsys.readouterr().err


def no_folder(tmp_path: Path) -> Path:
    return tmp_path / "no" / "file"


def dangling(tmp_path: Path) -> Path:
    (tmp_path / "link").symlink_to(tmp_path / "no" / "file")
    return tmp_path / "link"


def long_name(tmp_path: Path) -> Path:
    return tmp_path / ("x" * 300)


def below_a_file(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "x"


@pytest.mark.parametrize("flag", ["--summary", "--junit", "--sarif"])
@pytest.mark.parametrize("make", [no_folder, dangling, long_name, below_a_file])
def test_a_file_that_cannot_be_written_is_refused_before_the_first_run(
    tmp_path: Path, flag: str, make, capsys
) -> None:
    path = make(tmp_path)
    assert run_command(["batch", str(tmp_path), "--agent", "nop", flag, str(path)]) == 2
    said = capsys.readouterr().err.replace("\n", "")
    assert (f"'{flag}'" in said, str(path.parent) in said) == (True, True)


def test_looking_at_a_file_changes_nothing_and_leaves_none(tmp_path: Path) -> None:
    kept, new, link = tmp_path / "kept", tmp_path / "new", tmp_path / "link"
    kept.write_text("as it was")
    link.symlink_to(tmp_path / "aim")
    found = [NEW_FILE.convert(str(one), None, None) for one in (kept, new, link)]
    assert found == [kept, new, link]
    assert kept.read_text() == "as it was"
    assert sorted(os.listdir(tmp_path)) == ["kept", "link"]


def test_a_pipe_is_not_opened_to_look(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert NEW_FILE.convert(str(tmp_path / "pipe"), None, None) == tmp_path / "pipe"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(click.BadParameter):
        NEW_FILE.convert(str(tmp_path), None, None)


def test_what_can_no_longer_be_written_is_told_in_a_sentence(tmp_path: Path, capsys) -> None:
    gone = tmp_path / "gone" / "junit.xml"
    assert written(gone, lambda: "text") is False
    assert capsys.readouterr().err == f"{gone}: cannot be written: No such file or directory\n"
    assert written(tmp_path / "there", lambda: "text") is True
    assert (tmp_path / "there").read_text() == "text"
