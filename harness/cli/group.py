"""Commands that are imported when they are used, and only then."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import click

__all__ = ["LazyGroup"]


class LazyGroup(click.Group):
    """A group that knows where its commands live.

    Args:
        name: the group's own name.
        entries: for each command ``module:attribute`` and its line in the list.
        text: the whole help text.
    """

    def __init__(self, name: str, entries: Mapping[str, tuple[str, str]], text: str) -> None:
        super().__init__(name)
        self.entries = entries
        self.text = text

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """In the order in which they were written down."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command, imported now."""
        if cmd_name not in self.entries:
            return None
        module, _, attribute = self.entries[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002
        """The text that is also shown without this library."""
        return self.text.rstrip("\n")
