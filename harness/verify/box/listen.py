"""Hears what cannot be seen afterwards: tracers, exchanged code, planted modules.

PYTEST_DONT_REWRITE. The interpreter tells an audit hook of these events, and a hook once added
cannot be taken out again. A tracer can step over an assertion and then remove itself.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any, Callable, Dict, List, Tuple

TRACERS = ("coverage", "doctest", "hypothesis.internal.scrutineer")
"""Modules that set a tracer of their own, where they were imported before any code under test."""

NATIVE = (BuiltinFunctionType, type(None))
"""A profiler of the interpreter's own observes and does no more."""

Note = Callable[[str], None]
Heard = Callable[[Tuple[Any, ...]], None]


class Window:
    """What is going on: code is imported and tests collected, or a wanted test runs."""

    collecting = False
    testing = False


def listen() -> Callable[[Dict[str, Heard]], None]:
    """Call functions by the names of events until the process ends; what is returned adds some.

    One hook for all: every event costs a call of each.
    """
    hears: Dict[str, Heard] = {}

    def hook(event: str, args: Tuple[Any, ...]) -> None:
        if event in hears:
            hears[event](args)

    sys.addaudithook(hook)
    return hears.update


def tracers(note: Note, window: Window, is_test: Callable[[object], bool]) -> Dict[str, Heard]:
    """Hear of tracers that neither the tests themselves nor known tools set."""
    trusted = codes_of(TRACERS)
    trusted.append(vars(threading.Thread)["_bootstrap_inner"].__code__)
    getframe = vars(sys)["_getframe"]

    def set_by_others() -> bool:
        code = getframe(3).f_code
        return not any(code is one for one in trusted) and not is_test(code)

    def settrace(_: Tuple[Any, ...]) -> None:
        if (window.collecting or window.testing) and set_by_others():
            note("sys.settrace")

    def setprofile(_: Tuple[Any, ...]) -> None:
        if window.collecting and set_by_others():
            note("sys.setprofile")

    def register_callback(args: Tuple[Any, ...]) -> None:
        native = not args or isinstance(args[-1], NATIVE)
        if (window.collecting or (window.testing and not native)) and set_by_others():
            note("sys.monitoring")

    return {
        "sys.settrace": settrace,
        "sys.setprofile": setprofile,
        "sys.monitoring.register_callback": register_callback,
    }


def codes(
    note: Note, is_test: Callable[[object], bool], is_kept: Callable[[object], bool]
) -> Dict[str, Heard]:
    """Hear of functions of the tests or the test tool that are given another code."""

    def setattribute(args: Tuple[Any, ...]) -> None:
        function = args[0]
        if args[1] != "__code__" or type(function) is not FunctionType:
            return
        if is_kept(function) or is_test(function.__code__):
            note(function.__qualname__)

    return {"object.__setattr__": setattribute}


def compiled(note: Note, guarded: List[str]) -> Dict[str, Heard]:
    """Hear of compiled modules that are read from among the tests and did not lie there."""
    known = compiled_files(guarded)
    places = tuple(os.path.join(folder, "") for folder in guarded)
    exists = os.path.lexists

    def read(args: Tuple[Any, ...]) -> None:
        path = args[0]
        if type(path) is not str or not path.endswith(".pyc") or not path.startswith(places):
            return
        if exists(path) and known.get(path) != changed_at(path):
            note(path)

    return {"open": read}


def prepare(mentions: Callable[[bytes], bool]) -> None:
    """Import the tools that trace, where the tests use them, before any code under test."""
    for name in TRACERS:
        top = name.partition(".")[0]
        if mentions(top.encode()) and is_installed(top):
            try:
                importlib.import_module(name)
            except ImportError:
                continue


def is_installed(name: str) -> bool:
    """Whether a module is there, and not of the workspace."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    here = os.path.join(os.path.realpath(os.getcwd()), "")
    origin = spec.origin if spec is not None else None
    return origin is not None and not os.path.realpath(origin).startswith(here)


def codes_of(names: Tuple[str, ...]) -> List[CodeType]:
    """The code of all functions of some modules and of what is below them."""
    found = []
    below = tuple(name + "." for name in names)
    for name, module in list(sys.modules.items()):
        if name not in names and not name.startswith(below):
            continue
        for value in list(vars(module).values()):
            members = list(vars(value).values()) if isinstance(value, type) else [value]
            for member in members:
                code = getattr(getattr(member, "__func__", member), "__code__", None)
                if type(code) is CodeType:
                    found.append(code)
    return found


def changed_at(path: str) -> int:
    """When a file was last changed in any way; nobody can set that back."""
    try:
        return os.stat(path).st_ctime_ns
    except OSError:
        return 0


def compiled_files(folders: List[str]) -> Dict[str, int]:
    """The compiled modules that lie in some folders."""
    found = {}
    for top in folders:
        for folder, _, files in os.walk(top):
            for name in files:
                if name.endswith(".pyc"):
                    path = os.path.join(folder, name)
                    found[path] = changed_at(path)
    return found
