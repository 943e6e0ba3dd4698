"""Tells the watching parent, sealed and numbered, what each test reported.

PYTEST_DONT_REWRITE. It takes the key from its descriptor at once, so that code which comes later
finds it neither in the environment nor in a file. It sees for itself what each test function
raised, and looks around each of them, and at the end, whether functions of the test tool, its
plugins or the test itself were replaced meanwhile. Around wanted tests it looks closer
(witness.py).

It adds as little as it can to the start of a test run: no hmac with its cryptographic library.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Dict, Generator, Iterator, List, Set, Tuple

import pytest

from .functions import Kept, keep
from .source import called
from .witness import Witness

try:
    from _sha2 import sha256  # type: ignore[import-not-found]
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]  # until Python 3.11
    except ImportError:
        from hashlib import sha256

WATCHED = ("_pytest.", "pluggy", "unittest.case")
"""Modules whose functions decide what a test reports."""

DECIDING = ("_pytest.python", "_pytest.reports", "_pytest.runner", "_pytest.skipping", "pluggy")
"""Those of them that are looked at around each test: few, since it costs each test its time."""

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


def take() -> Callable[..., None]:
    """The sender of records, which are texts in a row; the key lives in its closure alone."""
    key_fd, report_fd = (int(word) for word in os.environ.pop("STOCKADE_REPORT").split())
    key = os.read(key_fd, 32)
    os.close(key_fd)
    os.set_inheritable(report_fd, False)
    # The two halves of an HMAC; a key of 32 bytes fills up to a block of 64.
    inner, outer = (
        sha256(bytes(key[at] ^ pad if at < 32 else pad for at in range(64))) for pad in (0x36, 0x5C)
    )
    owner = os.getpid()
    count = 0
    write, getpid = os.write, os.getpid

    def send(*fields: str) -> None:
        nonlocal count
        if getpid() != owner:  # a forked child of a test is not the one who reports
            return
        body = b"\t".join([field.encode("unicode_escape") for field in fields])
        first, second = inner.copy(), outer.copy()
        first.update(b"%d " % count + body)
        second.update(first.digest())
        count += 1
        line = second.hexdigest().encode() + b" " + body + b"\n"
        while line:
            line = line[write(report_fd, line) :]

    return send


Look = Callable[[Any, Tuple[str, ...]], None]


class Hooks:
    """A bare namespace that pytest can register."""


def reporter(send: Callable[..., None], witness: Witness) -> Hooks:
    """The hooks that send the start, each phase of each test, and the end.

    They are closures, and the plugin is their bare namespace: nothing that a test could import
    has the sender for an attribute.
    """
    paths: Dict[str, str] = {}
    codes: Dict[str, int] = {}
    raised: Set[str] = set()
    changed: Set[str] = set()
    kept: List[Kept] = []
    look = looker(changed, kept)

    def address(nodeid: str) -> str:
        return paths.get(nodeid, "") + "::" + nodeid.partition("::")[2]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(session: pytest.Session) -> None:
        """From here on no plugin and no function of the test tool should change."""
        witness.read(session.config)
        kept.append(keep(WATCHED))
        look(session.config, WATCHED)
        witness.begin(changed.add, kept[0].hold)
        send("start")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(session: pytest.Session) -> None:
        """Where each test lies, and what it is."""
        witness.window.collecting = False
        for item in session.items:
            paths[item.nodeid] = os.path.realpath(str(item.fspath))
            codes[item.nodeid] = code_of(item)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, None]:
        """What the test function itself raised, whatever is reported of it later."""
        look(pyfuncitem.config, DECIDING)
        if witness.disowns(paths.get(pyfuncitem.nodeid, ""), pyfuncitem, wrapped=True):
            changed.add(pyfuncitem.nodeid)
        outcome = yield
        if outcome.excinfo is not None:
            raised.add(pyfuncitem.nodeid)
        look(pyfuncitem.config, DECIDING)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(report: pytest.TestReport) -> None:
        """One phase of one test; an expected failure is not a pass."""
        if report.passed and type(report).__name__ in ("SubtestReport", "SubTestReport"):
            return  # the test itself reports, too; a part that failed speaks against it
        outcome = "xpassed" if hasattr(report, "wasxfail") else report.outcome
        if report.when == "call" and outcome == "passed" and report.nodeid in raised:
            outcome = "failed"
        send("phase", report.when, outcome, address(report.nodeid))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
        """The end, with what was replaced meanwhile."""
        look(session.config, WATCHED)
        send("finish", str(int(exitstatus)), *sorted(changed)[:20])

    hooks = around(witness, paths, codes, changed, look)
    vars(hooks).update(
        pytest_sessionstart=pytest_sessionstart,
        pytest_collection_finish=pytest_collection_finish,
        pytest_pyfunc_call=pytest_pyfunc_call,
        pytest_runtest_logreport=pytest_runtest_logreport,
        pytest_sessionfinish=pytest_sessionfinish,
    )
    return hooks


def looker(changed: Set[str], kept: List[Kept]) -> Look:
    """How to note what is no longer as it was at the first look."""
    plugins: List[int] = []
    tracers: List[Any] = []

    def look(config: pytest.Config, watched: Tuple[str, ...]) -> None:
        if not tracers:
            plugins.extend(id(plugin) for plugin in config.pluginmanager.get_plugins())
            tracers.extend([sys.gettrace(), sys.getprofile()])
        changed.update(kept[0].replaced(watched))
        changed.update(late_hooks(config, plugins))
        if watched is WATCHED:
            changed.update(kept[0].exchanged())
        elif [sys.gettrace(), sys.getprofile()] != tracers:
            # Not at the end: a tool that measures coverage has taken its tracer out by then.
            changed.add("sys.settrace")

    return look


def around(
    witness: Witness, paths: Dict[str, str], codes: Dict[str, int], changed: Set[str], look: Look
) -> Hooks:
    """The hooks around each test of any kind: what is called, and what changed and came back."""

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, None]:
        """The time of a wanted test, with what is set up for it."""
        address = paths.get(item.nodeid, "") + "::" + item.nodeid.partition("::")[2]
        witness.window.testing = address in witness.wanted
        yield
        witness.window.testing = False

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
        """What is called, and what was assigned meanwhile."""
        disowned = witness.disowns(paths.get(item.nodeid, ""), item)
        if disowned or code_of(item) != codes.get(item.nodeid):
            changed.add(item.nodeid)
        if not witness.window.testing:
            yield
            return
        look(item.config, DECIDING)
        stamps = witness.stamps.read()
        yield
        changed.update(witness.stamps.changed(stamps))
        look(item.config, DECIDING)

    hooks = Hooks()
    vars(hooks).update(
        pytest_runtest_protocol=pytest_runtest_protocol,
        pytest_runtest_call=pytest_runtest_call,
    )
    return hooks


def code_of(item: pytest.Item) -> int:
    """Identity of the code of a test function; that of None for a test that is no function."""
    return id(getattr(called(item), "__code__", None))


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
