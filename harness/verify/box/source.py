"""What the wanted tests say: read before any code under test is imported.

PYTEST_DONT_REWRITE. The files of the tests can be written by the code under test, and so can the
module that was made of them. So what is called as a test is compared with what its source, as it
was when the run began, compiles to: plainly, and with the test tool's own rewriting of asserts.
"""

from __future__ import annotations

import ast
import warnings
from types import CodeType, FunctionType
from typing import Any, Dict, Iterator, List, Tuple

import pytest
from _pytest.assertion.rewrite import rewrite_asserts

ASYNC = 0x80 | 0x200
"""Flags of a coroutine and of an asynchronous generator."""

Codes = Dict[str, List[CodeType]]


class Source:
    """The functions of one file of tests: code by name, and which of them nothing wraps."""

    def __init__(self, path: str, config: object) -> None:
        with open(path, "rb") as file:
            self.data = file.read()
        self.codes: Codes = {}
        self.bare: Dict[str, bool] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they come again when the file is imported
            try:
                self.compile(path, config)
            except (SyntaxError, ValueError, RecursionError):
                self.bare.clear()  # it cannot be imported either, or is no Python at all

    def compile(self, path: str, config: object) -> None:
        """Note what the file holds, in both ways that it may be compiled."""
        tree = ast.parse(self.data, filename=path)
        self.take(compile(tree, path, "exec", dont_inherit=True))
        for name, bare in definitions(tree, "", bare=True):
            self.bare[name] = self.bare.get(name, True) and bare
        rewrite_asserts(tree, self.data, path, config)  # type: ignore[arg-type]
        self.take(compile(tree, path, "exec", dont_inherit=True))

    def take(self, code: CodeType) -> None:
        """Note a code and all codes in it."""
        self.codes.setdefault(code.co_name, []).append(code)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self.take(constant)

    def holds(self, code: object) -> bool:
        """Whether a code is one of this file's; where it lies plays no part."""
        if type(code) is not CodeType:
            return False
        return any(code == one for one in self.codes.get(code.co_name, ()))

    def disowns(self, item: pytest.Item, *, wrapped: bool) -> bool:
        """Whether a test is about to be called that is not the one in the file.

        A test that a decorator wraps, or that comes from a base class of another file, cannot be
        told; nor can an asynchronous one, once its plugin may have wrapped it.
        """
        name = item.nodeid.partition("::")[2].partition("[")[0].replace("::", ".")
        if not self.bare.get(name):
            return False
        known = self.codes.get(name.rpartition(".")[2], [])
        if wrapped and any(code.co_flags & ASYNC for code in known):
            return False
        function = called(item)
        return type(function) is not FunctionType or not self.holds(function.__code__)


def called(item: pytest.Item) -> object:
    """The function of a test, and that of its class where the test tool is unittest."""
    found: Any = getattr(item, "obj", None)
    if getattr(item, "nofuncargs", False):
        owner = getattr(found, "__self__", None)
        name = getattr(item, "originalname", None) or item.name
        for kind in type(owner).__mro__ if owner is not None else ():
            if name in vars(kind):
                found = vars(kind)[name]
                break
    return getattr(found, "__func__", found)


def definitions(node: ast.AST, prefix: str, *, bare: bool) -> Iterator[Tuple[str, bool]]:
    """The functions outside of functions, and whether they are what their name will stand for."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + child.name, bare and all(map(is_mark, child.decorator_list))
        elif isinstance(child, ast.ClassDef):
            marks = all(map(is_mark, child.decorator_list))
            yield from definitions(child, prefix + child.name + ".", bare=bare and marks)
        elif isinstance(child, (ast.stmt, ast.excepthandler)):
            yield from definitions(child, prefix, bare=bare)


def is_mark(decorator: ast.expr) -> bool:
    """Whether a decorator gives back the function that it got."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return False
    return (names[-1:] == ["mark"] and node.id == "pytest") or (
        not names and node.id in ("staticmethod", "classmethod")
    )
