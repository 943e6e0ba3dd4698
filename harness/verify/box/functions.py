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


class Kept(NamedTuple):
    """What to ask of the functions that were kept.

    Attributes:
        replaced: the names in some modules that stand for something else now.
        exchanged: the names of functions that have another code now. Reading a code is an event
            for every audit hook, so this costs much more; an exchange is heard when it happens.
        hold: whether a function is one of them, or one that those modules made later.
    """

    replaced: Callable[[Tuple[str, ...]], List[str]]
    exchanged: Callable[[], List[str]]
    hold: Callable[[object], bool]


def keep(watched: Tuple[str, ...]) -> Kept:
    """Keep the functions of some modules."""
    spaces = [
        space
        for name, module in list(sys.modules.items())
        if name.startswith(watched)
        for space in spaces_of(name, module)
    ]
    known = {id(function) for space in spaces for function in space.functions}
    # Bound here: code under test may assign to the names of other modules.
    every, each, same, attribute, identity = all, map, is_, getattr, id
    code, none = repeat("__code__"), repeat(None)

    def replaced(watched: Tuple[str, ...]) -> List[str]:
        found: List[str] = []
        for module, prefix, get, names, things, _, _ in spaces:
            if module.startswith(watched) and not every(each(same, each(get, names), things)):
                found += [
                    prefix + name for at, name in enumerate(names) if get(name) is not things[at]
                ]
        return found

    def exchanged() -> List[str]:
        found: List[str] = []
        for space in spaces:
            now = [*each(attribute, space.functions, code, none)]
            if not every(each(same, now, space.codes)):
                names = enumerate(space.names)
                found += [
                    space.prefix + name for at, name in names if now[at] is not space.codes[at]
                ]
        return found

    def hold(function: object) -> bool:
        return identity(function) in known or module_of(function).startswith(watched)

    return Kept(replaced, exchanged, hold)


def module_of(function: object) -> str:
    """The module that a function says it is of."""
    return str(getattr(function, "__module__", ""))


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
