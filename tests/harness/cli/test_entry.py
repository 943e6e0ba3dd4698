from __future__ import annotations

import importlib

import click
import pytest

from harness.cli.entry import root, run_command
from harness.cli.overview import COMMANDS, overview

Leaf = tuple[tuple[str, ...], click.Command]


def test_help_says_the_same_with_and_without_the_library(capsys) -> None:
    assert run_command(["--help"]) == 0
    assert capsys.readouterr().out == overview()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_listed_command_exists(name: str) -> None:
    module, _, attribute = COMMANDS[name][0].partition(":")
    assert isinstance(getattr(importlib.import_module(module), attribute), click.Command)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys) -> None:
    assert (run_command([name, "--help"]), capsys.readouterr().out[:6]) == (0, "Usage:")


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> list[Leaf]:
    """Every command that does something, with the words that lead to it."""
    if not isinstance(command, click.Group):
        return [(path, command)]
    context = click.Context(command)
    found = []
    for name in command.list_commands(context):
        sub = command.get_command(context, name)
        assert sub is not None
        found += leaves(sub, (*path, name))
    return found


ONLY_JSON = {"runs schema", "policy judge", "policy schema"}
"""Commands that print JSON whatever is asked."""


def test_every_command_takes_json() -> None:
    without = {
        " ".join(path)
        for path, command in leaves(root)
        if not any("--json" in getattr(option, "opts", ()) for option in command.params)
    }
    assert without <= ONLY_JSON


def test_a_command_that_does_not_exist_is_2(capsys) -> None:
    assert (run_command(["nosuch"]), "nosuch" in capsys.readouterr().err) == (2, True)


def test_no_command_shows_the_help_and_is_2(capsys) -> None:
    assert (run_command([]), "Usage:" in capsys.readouterr().err) == (2, True)


def test_a_wrong_option_is_2(capsys) -> None:
    assert (run_command(["run", "--nosuch"]), "--nosuch" in capsys.readouterr().err) == (2, True)


def test_the_same_under_exec_is_125(capsys) -> None:
    assert (run_command(["exec", "--nosuch"]), "--nosuch" in capsys.readouterr().err) == (125, True)


def test_a_fault_of_our_own_is_3_without_a_traceback(capsys, monkeypatch) -> None:
    def broken(name: str, root: object = None) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr("harness.cli.runs.find_run", broken)
    monkeypatch.delenv("STOCKADE_DEBUG", raising=False)
    assert run_command(["runs", "show", "x"]) == 3
    err = capsys.readouterr().err
    assert ("boom" in err, "Traceback" in err) == (True, False)
