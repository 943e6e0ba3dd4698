"""Bug-fix tasks made of real packages: one token of their source is changed, one test fails.

    python -m tests.e2e.bugs.mutation      finds such changes anew and writes mutations.json

The sources are fetched when the tests run: source distributions at a pinned version and sha256.
"""

from __future__ import annotations

import ast
import json
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).parent
LIST = HERE / "mutations.json"


@dataclass(frozen=True)
class Package:
    """A source distribution with its tests."""

    name: str
    version: str
    sha256: str
    code: str
    tests: str

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.version}"


PACKAGES = {
    package.name: package
    for package in (
        Package(
            "boltons",
            "24.1.0",
            "4a49b7d57ee055b83a458c8682a2a6f199d263a8aa517098bda9bab813554b87",
            "boltons",
            "tests",
        ),
        Package(
            "toolz",
            "1.0.0",
            "2c86e3d9a04798ac556793bced838816296a2f085017664e4995cb40a1047a02",
            "toolz",
            "toolz/tests",
        ),
    )
}


@dataclass(frozen=True)
class Mutation:
    """A change of one line, and the test that finds it.

    Attributes:
        package: its name.
        file: in the package's folder.
        line: from 1; old: what it is; new: what the bug makes of it.
        test_file: in the folder of tests; test: the ID below it.
    """

    package: str
    file: str
    line: int
    old: str
    new: str
    test_file: str
    test: str

    @property
    def name(self) -> str:
        stem = Path(self.file).stem
        return f"{self.package}-{stem}-{self.line}".replace("_", "-")


def mutations() -> list[Mutation]:
    return [Mutation(**row) for row in json.loads(LIST.read_text())]


def fetch(folder: Path) -> Path:
    """The unpacked source distributions below a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = folder / "requirements.txt"
    lines = [f"{p.name}=={p.version} --hash=sha256:{p.sha256}\n" for p in PACKAGES.values()]
    wanted.write_text("".join(lines))
    pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check"]
    pip += ["--no-deps", "--no-binary", ":all:", "--require-hashes", "-d", str(folder)]
    subprocess.run([*pip, "-r", str(wanted)], check=True, capture_output=True)
    for archive in folder.glob("*.tar.gz"):
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
    for package in PACKAGES.values():
        found = next(p for p in folder.iterdir() if p.is_dir() and same(p.name, package.folder))
        if found.name != package.folder:
            found.rename(folder / package.folder)
    return folder


def same(one: str, two: str) -> bool:
    return one.replace("_", "-") == two.replace("_", "-")


def mutate(text: str, mutation: Mutation) -> str:
    lines = text.splitlines(keepends=True)
    assert lines[mutation.line - 1] == mutation.old, mutation
    lines[mutation.line - 1] = mutation.new
    return "".join(lines)


TASK = """\
schema_version = "1.4"
[task]
name = "bugs/{name}"
[environment]
network_mode = "no-network"
[metadata.stockade]
policy = "python-dev"
image = "python"
workspace = "environment/workspace"
left_out = true
[metadata.stockade.verify]
argv = ["python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:doctest",
        "-k", {key}, "$STOCKADE_TESTS/{file}"]
tests = [{test}]
"""


def write_task(sources: Path, mutation: Mutation, folder: Path) -> Path:
    """The task folder of one mutation: the original file is the solution."""
    package = PACKAGES[mutation.package]
    source = sources / package.folder
    workspace = folder / "environment" / "workspace"
    skip = shutil.ignore_patterns("tests", "__pycache__", "*.pyc")
    shutil.copytree(source / package.code, workspace / package.code, ignore=skip)
    original = (source / mutation.file).read_text(encoding="utf-8")
    (workspace / mutation.file).write_text(mutate(original, mutation), encoding="utf-8")
    (folder / "tests").mkdir()
    shutil.copy(source / package.tests / mutation.test_file, folder / "tests")
    (folder / "solution").mkdir()
    (folder / "solution" / "original.py").write_text(original, encoding="utf-8")
    (folder / "solution" / "solve.sh").write_text(
        f'#!/bin/bash\ncp "$STOCKADE_SOLUTION/original.py" {mutation.file}\n'
    )
    (folder / "instruction.md").write_text(f"{mutation.test} fails; mend {mutation.file}.\n")
    key = mutation.test.rpartition("::")[2]
    test = json.dumps(f"{mutation.test_file}::{mutation.test}")
    (folder / "task.toml").write_text(
        TASK.format(name=mutation.name, key=json.dumps(key), file=mutation.test_file, test=test)
    )
    return folder


SWAPS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: (" is ", " is not "),
    ast.IsNot: (" is not ", " is "),
    ast.In: (" in ", " not in "),
    ast.NotIn: (" not in ", " in "),
    ast.Add: (" + ", " - "),
    ast.Sub: (" - ", " + "),
    ast.And: (" and ", " or "),
    ast.Or: (" or ", " and "),
}


def candidates(text: str) -> Iterator[tuple[int, str, str]]:
    """Lines of a source with one operator changed."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        operators: list[ast.AST] = []
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            operators = list(node.ops)
        elif isinstance(node, ast.BinOp | ast.BoolOp):
            operators = [node.op]
        for operator in operators:
            swap = SWAPS.get(type(operator))
            line = lines[node.lineno - 1]
            if swap and node.lineno == node.end_lineno and line.count(swap[0].strip()) == 1:
                yield node.lineno, line, line.replace(*swap)


def finding_test(root: Path, package: Package, test_file: str) -> str | None:
    """The first test that fails."""
    argv = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no"]
    argv += [
        "--noconftest",
        "-o",
        "addopts=",
        "--rootdir",
        str(root),
        str(root / package.tests / test_file),
    ]
    try:
        done = subprocess.run(
            argv, cwd=root, capture_output=True, text=True, check=False, timeout=30,
            env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    for line in done.stdout.splitlines():
        if line.startswith("FAILED "):
            return line.split()[1].partition("::")[2]
    return None


PAIRS = {
    "boltons": ["cacheutils", "dictutils", "formatutils", "iterutils", "listutils", "mathutils",
                "queueutils", "setutils", "statsutils", "strutils", "timeutils", "urlutils"],
    "toolz": ["dicttoolz", "functoolz", "itertoolz"],
}  # fmt: skip


def search(each: int) -> list[Mutation]:
    """Up to so many mutations of each module that its own tests find."""
    found: list[Mutation] = []
    chance = random.Random(8)
    with tempfile.TemporaryDirectory() as folder:
        sources = fetch(Path(folder))
        for name, modules in PAIRS.items():
            package = PACKAGES[name]
            root = sources / package.folder
            for module in modules:
                file, test_file = f"{package.code}/{module}.py", f"test_{module}.py"
                text = (root / file).read_text(encoding="utf-8")
                if finding_test(root, package, test_file) is not None:
                    continue
                options = list(candidates(text))
                chance.shuffle(options)
                kept = 0
                for line, old, new in options[: each * 4]:
                    trial = Mutation(name, file, line, old, new, test_file, "")
                    (root / file).write_text(mutate(text, trial), encoding="utf-8")
                    test = finding_test(root, package, test_file)
                    if test and "[" not in test and trial.name not in {m.name for m in found}:
                        found.append(Mutation(**{**asdict(trial), "test": test}))
                        kept += 1
                        sys.stderr.write(f"{found[-1].name} {test}\n")
                    if kept == each:
                        break
                (root / file).write_text(text, encoding="utf-8")
    return found


def main() -> None:
    rows = [asdict(one) for one in search(each=3)]
    LIST.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
