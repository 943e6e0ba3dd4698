"""Change the code in small ways and see whether a test notices: `python -m benchmarks.mutants`.

Each mutant is one changed spot of one module. It is tried in a forked child that imports the
changed module in place of the real one and runs the tests that reach the spot, until the first
fails. Which tests reach which line is found out beforehand, in one run of all of them.

    python -m benchmarks.mutants [--sample N] [--seed S] [MODULE...]

Nothing is written to the checkout. Texts of messages are left alone: a test that pins each word
would prove nothing.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pydantic  # noqa: F401 - what tests import is loaded once, before the forks
import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[1]
MODULES = [
    "loop",
    "budget",
    "registry",
    "schema",
    "pipeline.admission",
    "pipeline.batch",
    "pipeline.case",
    "pipeline.conclusion",
    "pipeline.dispatch",
]
TESTS = [
    "loop",
    "pipeline",
    "scenarios",
    "registry",
    "schema",
    "approval",
    "action",
    "context",
    "edges",
    "events",
    "model",
    "plugin",
    "library",
    "prompt",
]
QUIET = ["-q", "-p", "no:cacheprovider", "-m", "not slow and not network"]
QUIET += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is loaded before the forks
SECONDS = 150

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}


@dataclass(frozen=True)
class Mutant:
    """One changed spot: which node of the module's tree, and what is done to it."""

    module: str
    path: Path
    number: int
    kind: str
    lines: frozenset[int]

    def make(self) -> tuple[ast.Module, str]:
        """The changed tree, and what was changed."""
        tree = ast.parse(self.path.read_text("utf-8"))
        node = next(n for i, (n, _) in enumerate(_spots(tree, frozenset())) if i == self.number)
        before = (ast.unparse(node) or type(node).__name__).splitlines()[0]
        after = _change(tree, node, self.kind)
        where = f"{self.path.relative_to(ROOT)}:{min(self.lines, default=1)}"
        return ast.fix_missing_locations(tree), f"{where} {before:.60} -> {after:.60}"


def mutants(module: str) -> Iterator[Mutant]:
    """All mutants of a module, in the order of its text."""
    path = ROOT / "harness" / (module.replace(".", "/") + ".py")
    tree = ast.parse(path.read_text("utf-8"))
    for number, (node, lines) in enumerate(_spots(tree, frozenset())):
        for kind in _kinds(node):
            yield Mutant(f"harness.{module}", path, number, kind, lines)


def _spots(node: ast.AST, lines: frozenset[int]) -> Iterator[tuple[ast.AST, frozenset[int]]]:
    """Nodes that can be changed, each with the lines of the statement that it stands in.

    What runs at import has no lines: every test reaches it.
    """
    for child in ast.iter_child_nodes(node):
        around = lines
        if isinstance(child, ast.stmt):
            if _is_no_code(child):
                continue
            around = _lines(child) if lines or _is_body(node, child) else frozenset()
        if isinstance(child, ast.JoinedStr | ast.arg) or child is getattr(node, "annotation", 0):
            continue
        if child is getattr(node, "returns", 0) or _is_type(node):
            continue
        yield child, around
        yield from _spots(child, around)


def _lines(statement: ast.stmt) -> frozenset[int]:
    """Those of the statement itself, without what stands below it."""
    body = getattr(statement, "body", None)
    end = body[0].lineno - 1 if body else statement.end_lineno or statement.lineno
    return frozenset(range(statement.lineno, max(end, statement.lineno) + 1))


def _is_body(node: ast.AST, child: ast.stmt) -> bool:
    """Whether a statement runs when a function is called; others run when it is imported."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and child in node.body


def _is_type(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and (
            node.value.id in ("Callable", "Mapping", "Sequence", "Awaitable", "Literal", "TypeVar")
        )
    )


def _is_no_code(node: ast.stmt) -> bool:
    """Docstrings, imports, names of the face, and declarations without a value."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Assert | ast.Pass):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.AnnAssign):
        return node.value is None or "TypeAlias" in ast.dump(node.annotation)
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return True
    names = [t.id for t in getattr(node, "targets", ()) if isinstance(t, ast.Name)]
    return bool({"__all__", "__slots__", "__hash__"} & set(names))


def _kinds(node: ast.AST) -> list[str]:
    if type(node) in SWAPS:
        return ["swap"]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ["bare"]
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return ["negate"]
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        return ["constant"]
    if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        return ["none"]
    if isinstance(node, ast.Expr | ast.AugAssign | ast.Raise | ast.Break | ast.Continue):
        return ["drop"]
    if isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name):
        return ["drop"]
    if isinstance(node, ast.Call):
        return [f"without {k.arg}" for k in node.keywords if k.arg is not None]
    return []


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _change(tree: ast.Module, node: Any, kind: str) -> str:
    new: ast.AST
    if kind == "swap":
        new = SWAPS[type(node)]()
    elif kind == "bare":
        new = node.operand
    elif kind == "negate":
        node.test = ast.UnaryOp(ast.Not(), node.test)
        return "not ..."
    elif kind == "constant":
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
        return repr(node.value)
    elif kind == "none":
        node.value = ast.Constant(None)
        return "return None"
    elif kind == "drop":
        new = ast.Pass()
    else:
        name = kind.removeprefix("without ")
        node.keywords = [k for k in node.keywords if k.arg != name]
        return kind
    _Swap(node, new).visit(tree)
    return type(new).__name__ if not isinstance(new, ast.expr) else ast.unparse(new)


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        if node is self.old:
            return ast.copy_location(self.new, node)
        return self.generic_visit(node)


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the changed module in place of the file's."""

    def __init__(self, mutant: Mutant, tree: ast.Module) -> None:
        self.mutant = mutant
        self.tree = tree

    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        if name != self.mutant.module:
            return None
        return importlib.machinery.ModuleSpec(name, self, origin=str(self.mutant.path))

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self.mutant.path)
        exec(compile(self.tree, module.__file__, "exec"), module.__dict__)


class Reach:
    """A pytest plugin: which lines of the modules each test runs."""

    def __init__(self, files: set[str]) -> None:
        self.files = files
        self.lines: dict[tuple[str, int], set[str]] = {}
        self._test = ""

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename not in self.files:
            return None
        if event == "line" or event == "call":
            key = (frame.f_code.co_filename, frame.f_lineno)
            self.lines.setdefault(key, set()).add(self._test)
        return self._trace

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._test = item.nodeid
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        yield
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]


class Only:
    """A pytest plugin: only these tests."""

    def __init__(self, wanted: set[str]) -> None:
        self.wanted = wanted

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.wanted]


def in_child(work: Any, seconds: float) -> int:
    """The exit status of a function in a forked child; 99 when it took too long."""
    child = os.fork()
    if not child:
        os.setsid()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os._exit(int(work()))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 99


def reach(modules: list[str], files: list[str]) -> dict[tuple[str, int], set[str]]:
    """Which tests run which line; found out in a child, so that nothing stays imported."""
    paths = {str(ROOT / "harness" / (m.replace(".", "/") + ".py")) for m in modules}
    source, sink = os.pipe()
    plugin = Reach(paths)

    def run() -> int:
        code = int(pytest.main([*QUIET, "--timeout=0", *files], plugins=[plugin]))
        with os.fdopen(sink, "w") as out:
            for (path, line), tests in plugin.lines.items():
                out.writelines(f"{path}\t{line}\t{test}\n" for test in tests)
        return code

    found: dict[tuple[str, int], set[str]] = {}
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(os.fdopen(source)))
    child = os.fork()
    if not child:
        os._exit(run())
    os.close(sink)
    reader.start()
    reader.join()
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise SystemExit("the tests fail without any change; mutants would prove nothing")
    for line in lines:
        path, number, test = line.rstrip("\n").split("\t")
        found.setdefault((path, int(number)), set()).add(test)
    return found


def judge(mutant: Mutant, tree: ast.Module, tests: set[str], files: list[str]) -> str:
    """killed, lives, slow (ran out of time) or unreached."""
    if not tests:
        return "unreached"
    names = {test.split("::")[0] for test in tests}
    chosen = [file for file in files if str(Path(file).relative_to(ROOT)) in names]

    def run() -> int:
        sys.meta_path.insert(0, Changed(mutant, tree))
        return int(pytest.main(["-x", "--timeout=60", *QUIET, *chosen], plugins=[Only(tests)]))

    code = in_child(run, SECONDS)
    return {0: "lives", 99: "slow"}.get(code, "killed")


def main() -> int:
    """Try mutants; exit 1 when under 85 % are noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=list(MODULES))
    parser.add_argument("--sample", type=int, default=0, help="so many in all; 0 tries each")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    settings.register_profile(
        "mutants",
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("mutants")
    files = [str(ROOT / "tests" / "harness" / f"test_{name}.py") for name in TESTS]
    print("finding out which test reaches which line", file=sys.stderr)
    reached = reach(chosen.modules, files)
    everything = {test for tests in reached.values() for test in tests}
    pool = [mutant for module in chosen.modules for mutant in mutants(module)]
    total = len(pool)
    if chosen.sample and chosen.sample < total:
        pool = random.Random(chosen.seed).sample(pool, chosen.sample)
    counts: Counter[str] = Counter()
    for mutant in pool:
        at = [reached.get((str(mutant.path), line), set()) for line in mutant.lines]
        tests = set().union(*at) if mutant.lines else everything
        tree, what = mutant.make()
        verdict = judge(mutant, tree, tests - {""}, files)
        counts[verdict] += 1
        print(f"{verdict:9} {what}", flush=True)
    noticed = counts["killed"] + counts["slow"]
    print(f"{noticed} of {len(pool)} tried ({total} possible): {noticed / len(pool):.1%} noticed")
    print(dict(counts))
    return noticed / len(pool) < 0.85


if __name__ == "__main__":
    raise SystemExit(main())
