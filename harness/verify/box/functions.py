"""The functions of the test tool as they were at first, and which of them were replaced since.

PYTEST_DONT_REWRITE. There are two thousand of them, and several looks at each test. So what each
name stood for is kept, and a look compares identities, in the loops of the interpreter.
"""

from __future__ import annotations

import sys
from itertools import repeat
from operator import is_
from types import FunctionType, ModuleType
from typing import Any, Callable, Iterator, List, Mapping, NamedTuple, Tuple

Replaced = Callable[[Tuple[str, ...]], List[str]]
Get = Callable[[str], Any]
Row = Tuple[str, Any, Any, Any]
"""A name, what it stood for, the function of that, and its code."""


class Space(NamedTuple):
    """The rows of one module or class, column by column, and how a name is looked up there."""

    module: str
    prefix: str
    get: Get
    names: Tuple[str, ...]
    things: Tuple[Any, ...]
    functions: Tuple[Any, ...]
    codes: Tuple[Any, ...]


def kept(watched: Tuple[str, ...]) -> Replaced:
    """Keep the functions of some modules; what is returned tells which were replaced since."""
    spaces = [
        space
        for name, module in list(sys.modules.items())
        if name.startswith(watched)
        for space in spaces_of(name, module)
    ]
    # Bound here: code under test may assign to the names of other modules.
    every, each, same, attribute = all, map, is_, getattr
    code, none = repeat("__code__"), repeat(None)

    def replaced(watched: Tuple[str, ...]) -> List[str]:
        found: List[str] = []
        for module, prefix, get, names, things, functions, codes in spaces:
            if not module.startswith(watched):
                continue
            if every(each(same, each(get, names), things)) and every(
                each(same, each(attribute, functions, code, none), codes)
            ):
                continue
            for at, name in enumerate(names):
                now = attribute(functions[at], "__code__", None)
                if get(name) is not things[at] or now is not codes[at]:
                    found.append(prefix + name)
        return found

    return replaced


def spaces_of(name: str, module: ModuleType) -> Iterator[Space]:
    """A module, the functions and classes that it defines, and the functions of those."""
    yield space_of(name, "", sys.modules.get, [(name, module, None, None)])
    own: List[Row] = []
    for attribute, value in list(vars(module).items()):
        if getattr(value, "__module__", name) != name:
            continue  # it is looked at where it is defined
        if not isinstance(value, type):
            own += rows_of({attribute: value})
        elif inside := rows_of(vars(value)):
            yield space_of(name, name + "." + attribute + ".", vars(value).get, inside)
            own.append((attribute, value, None, None))
    if own:
        yield space_of(name, name + ".", vars(module).get, own)


def rows_of(members: Mapping[str, Any]) -> List[Row]:
    """Those of some names that stand for functions, plain or held by a descriptor."""
    found: List[Row] = []
    for name, thing in list(members.items()):
        function = thing if type(thing) is FunctionType else getattr(thing, "__func__", thing)
        code = getattr(function, "__code__", None)
        if code is not None:
            found.append((name, thing, function, code))
    return found


def space_of(module: str, prefix: str, get: Get, rows: List[Row]) -> Space:
    """The rows, column by column."""
    names, things, functions, codes = zip(*rows)  # noqa: B905 - strict is not in Python 3.8
    return Space(module, prefix, get, names, things, functions, codes)
