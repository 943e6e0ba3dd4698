"""A pytest plugin: tells the watching parent, sealed and numbered, what each test reported.

It is loaded before any conftest file and any code under test. It takes the key from its
descriptor at once, so that code which comes later finds it neither in the environment nor in a
file. At the end it says which functions of the test tool were replaced meanwhile.

Python 3.8 and later, pytest 6 and later: it runs in the box.
"""

from __future__ import annotations

import hmac
import json
import os
import sys
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest

WATCHED = ("_pytest.", "pluggy", "unittest.case")
"""Modules whose functions decide what a test reports."""

HOOKS = (
    "pytest_collection_modifyitems",
    "pytest_pyfunc_call",
    "pytest_runtest_call",
    "pytest_runtest_logreport",
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
)


def take() -> Callable[[Dict[str, Any]], None]:
    """The sender of records; the key lives in its closure alone."""
    key_fd, report_fd = (int(word) for word in os.environ.pop("STOCKADE_REPORT").split())
    key = os.read(key_fd, 32)
    os.close(key_fd)
    os.set_inheritable(report_fd, False)
    owner = os.getpid()
    count = 0
    write, new, dumps, getpid = os.write, hmac.new, json.dumps, os.getpid

    def send(record: Dict[str, Any]) -> None:
        nonlocal count
        if getpid() != owner:  # a forked child of a test is not the one who reports
            return
        body = dumps(record).encode()
        seal = new(key, b"%d " % count + body, "sha256").hexdigest().encode()
        count += 1
        line = seal + b" " + body + b"\n"
        while line:
            line = line[write(report_fd, line) :]

    return send


def functions() -> Dict[Tuple[str, str], Tuple[int, int]]:
    """Identity of each function of the test tool and of its code."""
    found = {}
    for name, module in list(sys.modules.items()):
        if not name.startswith(WATCHED):
            continue
        for attribute, value in list(vars(module).items()):
            if getattr(value, "__module__", name) != name:
                continue  # it is looked at where it is defined
            if isinstance(value, type):
                members = [(attribute + "." + key, item) for key, item in vars(value).items()]
            else:
                members = [(attribute, value)]
            for path, item in members:
                function = getattr(item, "__func__", item)
                code = getattr(function, "__code__", None)
                if code is not None:
                    found[name, path] = (id(item), id(code))
    return found


class Hooks:
    """A bare namespace that pytest can register."""


def reporter(send: Callable[[Dict[str, Any]], None]) -> Hooks:
    """The hooks that send the start, each phase of each test, and the end.

    They are closures, and the plugin is their bare namespace: nothing that a test could import
    has the sender for an attribute.
    """
    before: Dict[Tuple[str, str], Tuple[int, int]] = {}
    plugins: List[int] = []
    paths: Dict[str, str] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(session: pytest.Session) -> None:
        """From here on no plugin and no function of the test tool should change."""
        plugins.extend(id(plugin) for plugin in session.config.pluginmanager.get_plugins())
        before.update(functions())
        send({"kind": "start"})

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(session: pytest.Session) -> None:
        """Where each test lies."""
        for item in session.items:
            paths[item.nodeid] = os.path.realpath(str(item.fspath))

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(report: pytest.TestReport) -> None:
        """One phase of one test; an expected failure is not a pass."""
        address = paths.get(report.nodeid, "") + "::" + report.nodeid.partition("::")[2]
        outcome = "xpassed" if hasattr(report, "wasxfail") else report.outcome
        send({"kind": "phase", "test": address, "when": report.when, "outcome": outcome})

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
        """The end, with what was replaced meanwhile."""
        now = functions()
        changed = {".".join(name) for name in before if now.get(name) != before[name]}
        changed.update(late_hooks(session.config, plugins))
        send({"kind": "finish", "code": int(exitstatus), "changed": sorted(changed)[:20]})

    hooks = Hooks()
    vars(hooks).update(
        pytest_sessionstart=pytest_sessionstart,
        pytest_collection_finish=pytest_collection_finish,
        pytest_runtest_logreport=pytest_runtest_logreport,
        pytest_sessionfinish=pytest_sessionfinish,
    )
    return hooks


def late_hooks(config: pytest.Config, plugins: List[int]) -> Iterator[str]:
    """Hooks that decide on tests and came from a plugin which was not there at the start."""
    for hook in HOOKS:
        for implementation in getattr(config.hook, hook).get_hookimpls():
            plugin = implementation.plugin
            if id(plugin) not in plugins and not conftest(plugin):
                yield hook


def conftest(plugin: object) -> bool:
    """Whether a plugin is a conftest file: those were settled before the verification."""
    return os.path.basename(getattr(plugin, "__file__", None) or "") == "conftest.py"


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
    PLUGINS = [reporter(take())]

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
        """Before the first conftest file: take part in the run, admit the workspace."""
        early_config.pluginmanager.register(PLUGINS.pop(), "stockade-report-hooks")
        admit_workspace()
