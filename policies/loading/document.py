"""Document: one policy file, its text and its data, and the diagnostics about it."""

from __future__ import annotations

import re
import tomllib
from functools import cached_property
from typing import Any

from policies.loading.diagnostic import Diagnostic, PolicyFileError
from policies.loading.positions import Path, TomlPositions

__all__ = ["Document"]

WHERE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


class Document:
    """A policy file as it was read.

    Attributes:
        name: as errors show it.
        text: the file.
        data: the parsed TOML.
        faults: what was found wrong so far.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.faults: list[Diagnostic] = []
        self.data: dict[str, Any] = {}
        try:
            self.data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise PolicyFileError([self.broken(str(error))]) from None
        except RecursionError:
            raise PolicyFileError([self.broken("nested too deeply")]) from None
        except ValueError as error:
            raise PolicyFileError([self.broken(str(error))]) from None

    def broken(self, message: str) -> Diagnostic:
        """The diagnostic of a text that is not TOML."""
        lines = self.text.split("\n")
        found = WHERE.search(message)
        line, column = len(lines), len(lines[-1]) + 1
        if found is not None:
            message = message[: found.start()]
            if found[1]:
                line, column = int(found[1]), int(found[2])
        source = lines[line - 1] if line <= len(lines) else ""
        return Diagnostic(self.name, line, column, f"not TOML: {message}", "", source)

    @cached_property
    def positions(self) -> TomlPositions:
        """Where everything stands; only read when there is something to show."""
        return TomlPositions(self.text.replace("\r\n", "\n"))

    def place(self, path: Path, column: int | None = None, *, key: bool = False) -> int:
        """The offset of a key, a value or a character inside a string value."""
        positions = self.positions
        while path and path not in positions.values and path not in positions.keys:
            path = path[:-1]
        if column is not None and path in positions.values:
            return positions.inside(path, column)
        if key and path in positions.keys:
            return positions.keys[path]
        return positions.values.get(path, positions.keys.get(path, 0))

    def line_of(self, path: Path) -> int:
        """The line number of a value."""
        return self.positions.text.count("\n", 0, self.place(path)) + 1

    def fault(
        self,
        path: Path,
        message: str,
        fix: str = "",
        *,
        column: int | None = None,
        key: bool = False,
        width: int = 1,
    ) -> None:
        """Note a fault at a place of the file."""
        self.faults.append(self.diagnostic(path, message, fix, column=column, key=key, width=width))

    def diagnostic(
        self,
        path: Path,
        message: str,
        fix: str = "",
        *,
        column: int | None = None,
        key: bool = False,
        width: int = 1,
    ) -> Diagnostic:
        """A diagnostic at a place of the file."""
        offset = self.place(path, column, key=key)
        text = self.positions.text
        start = text.rfind("\n", 0, offset) + 1
        end = text.find("\n", offset)
        source = text[start:] if end < 0 else text[start:end]
        line = text.count("\n", 0, offset) + 1
        return Diagnostic(self.name, line, offset - start + 1, message, fix, source, width)
