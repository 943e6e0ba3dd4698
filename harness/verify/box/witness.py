"""Looks closer around the wanted tests: at what is called, and at what is put back.

PYTEST_DONT_REWRITE. See source.py, stamp.py and listen.py for what each of the three can tell.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, Callable, Dict, List

import pytest

from .listen import Window, codes, compiled, listen, prepare, tracers
from .source import Source
from .stamp import Stamps

JUDGING = (
    "_pytest.assertion.",
    "_pytest.outcomes",
    "_pytest.python",
    "_pytest.raises",
    "_pytest.recwarn",
    "_pytest.reports",
    "_pytest.runner",
    "_pytest.skipping",
    "_pytest.unittest",
    "pluggy",
    "unittest.case",
)
"""Modules in whose types and names nothing should be assigned while a wanted test runs."""


class Witness:
    """What is known of the wanted tests."""

    def __init__(self, wanted: List[str], guarded: List[str]) -> None:
        self.wanted = frozenset(wanted)
        self.guarded = guarded
        self.window = Window()
        self.sources: Dict[str, Source] = {}
        self.stamps = Stamps({})

    def read(self, config: pytest.Config) -> None:
        """Before anything else of a session: the sources, and the tools that they judge with."""
        for path in sorted({test.partition("::")[0] for test in self.wanted}):
            if os.path.isfile(path):
                self.sources[path] = Source(path, config)
        if self.mention(b"unittest") or self.mention(b"TestCase"):
            importlib.import_module("unittest.case")
        texts = any(not path.endswith(".py") for path in self.sources)
        if texts or config.getoption("doctestmodules", False):
            importlib.import_module("doctest")

    def begin(self, note: Callable[[str], None], kept: Callable[[object], bool]) -> None:
        """From here on nothing is overheard; ``kept`` says which functions are the test tool's."""
        self.stamps = Stamps(judging())
        hear = listen()
        hear({**codes(note, self.hold, kept), **compiled(note, self.guarded)})
        prepare(self.mention)
        hear(tracers(note, self.window, self.hold))
        self.window.collecting = True

    def hold(self, code: object) -> bool:
        """Whether a code is of the source of wanted tests."""
        return any(source.holds(code) for source in self.sources.values())

    def mention(self, word: bytes) -> bool:
        """Whether the source of wanted tests has a word."""
        return any(word in source.data for source in self.sources.values())

    def disowns(self, path: str, item: pytest.Item, *, wrapped: bool = False) -> bool:
        """Whether the test is not the one that its file holds; as far as it is wanted."""
        source = self.sources.get(path)
        if not self.window.testing or source is None:
            return False
        return source.disowns(item, wrapped=wrapped)


def judging() -> Dict[str, Any]:
    """The types and modules that decide on a test while it runs."""
    found: Dict[str, Any] = {}
    for name, module in list(sys.modules.items()):
        if not name.startswith(JUDGING) and name != "pytest":
            continue
        found[name] = vars(module)
        for attribute, value in list(vars(module).items()):
            if isinstance(value, type) and value.__module__ == name:
                found[name + "." + attribute] = value
    return found
