"""A pytest plugin: loads the reporter before any conftest file and any code under test.

Python 3.8 and later, pytest 6 and later: it runs in the box. The test tool reads a plugin twice,
to see whether its asserts are to be rewritten (PYTEST_DONT_REWRITE), and the modules beside it
once: so there is little in this one.
"""

from __future__ import annotations

import marshal
import os
import sys

import pytest

from .reporter import reporter, take
from .witness import Witness


def admit_workspace() -> None:
    """The workspace becomes importable: after the test tool, before any test.

    Behind the standard library, so that a file of the workspace cannot stand in for a module
    which the test tool has yet to import; before installed packages, so that the package under
    test is the workspace's.
    """
    here = os.getcwd()
    if here not in sys.path:
        places = [i for i, path in enumerate(sys.path) if path.endswith("-packages")]
        sys.path.insert(places[0] if places else len(sys.path), here)


if "STOCKADE_REPORT" in os.environ:
    with open(os.path.join(os.path.dirname(os.path.dirname(__file__)), "orders"), "rb") as file:
        PLUGINS = [reporter(take(), Witness(**marshal.load(file)))]  # noqa: S302 - our own

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
        """Before the first conftest file: take part in the run, admit the workspace."""
        early_config.pluginmanager.register(PLUGINS.pop(), "stockade-report-hooks")
        admit_workspace()
