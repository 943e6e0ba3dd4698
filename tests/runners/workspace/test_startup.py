"""Start-up files that a program put into the result are found; ordinary work is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.workspace import Tree, scan, startup_files, write_archive
from runners.workspace.tree import Item

from .folders import Spec, make

BEFORE: Spec = {
    "conftest.py": b"",
    "pkg/__init__.py": b"",
    "pkg/core.py": b"",
    "setup.cfg": b"[metadata]\nname = x\n[tool:pytest]\naddopts = -q\n",
    "pyproject.toml": b'[project]\nname = "x"\n[tool.pytest.ini_options]\naddopts = "-q"\n',
}


def found(folder: Path, after: Spec, before: Spec = BEFORE) -> dict[str, str]:
    trees: list[Tree] = []
    for name, spec in (("a", before), ("b", {**before, **after})):
        source = make(folder / name, spec)
        trees.append(write_archive(source, scan(source, plain=True), folder / f"{name}.tar"))

    def reader(name: str) -> object:
        def read(path: str, item: Item) -> bytes:
            return (folder / name / path).read_bytes()

        return read

    startups = startup_files(*trees, reader("a"), reader("b"))  # type: ignore[arg-type]
    return {startup.path: startup.reason for startup in startups}


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("conftest.py", b"import os; os._exit(0)"),
        ("tests/conftest.py", b""),
        ("sitecustomize.py", b""),
        ("pkg/usercustomize.py", b""),
        ("x.pth", b"import os"),
        ("pytest.ini", b""),
        ("sub/.pytest.ini", b""),
        ("pytest.py", b""),
        ("pytest/__init__.py", b""),
        ("_pytest/__init__.py", b""),
        ("tests/unittest.py", b""),
        ("unittest/__init__.py", b""),
        ("json.cpython-311-x86_64-linux-gnu.so", b""),
        ("x.dist-info/entry_points.txt", b"[pytest11]\nx = y\n"),
        ("tox.ini", b"[pytest]\naddopts = -p evil\n"),
        ("setup.cfg", b"[metadata]\nname = x\n[tool:pytest]\naddopts = -p evil\n"),
        ("pyproject.toml", b'[tool.pytest.ini_options]\naddopts = "-p evil"\n'),
        ("pyproject.toml", b"[tool.pytest.ini_options\nbroken"),
        ("pyproject.toml", b'tool = {pytest = {ini_options = {addopts = "-p evil"}}}'),
        ("pyproject.toml", b'[tool.coverage.run]\nplugins = ["evil"]\n'),
        ("tox.ini", b"[pytest] #]\naddopts = -p evil\n"),
        ("tox.ini", b"[pytest];]\naddopts = -p evil\n"),
        ("tox.ini", b"\xef\xbb\xbf[pytest]\naddopts = -p evil\n"),
        ("tox.ini", b"[tox]\nx = y\x0c[pytest]\x0caddopts = -p evil\n"),
        ("tox.ini", b"[tox]\r[pytest]\raddopts = -p evil\r"),
        ("setup.cfg", b"[tool:pytest] ;]\naddopts = -p evil\n"),
        ("setup.cfg", b"[tool:pytest]\naddopts = -q\n [x]\n[y\n -p evil\n"),
        ("setup.cfg", b"[coverage:run]\nplugins = evil\n"),
    ],
)
def test_a_start_up_file_is_found(tmp_path: Path, path: str, content: bytes) -> None:
    assert list(found(tmp_path, {path: content})) == [path]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("pkg/core.py", b"changed"),
        ("pkg/types.py", b"a module of a package shadows nothing"),
        ("pkg/json/__init__.py", b""),
        ("tests/test_core.py", b""),
        ("json.txt", b""),
        ("tox.ini", b"[tox]\nenvlist = py\n"),
        ("setup.cfg", b"[metadata]\nname = y\n[tool:pytest]\naddopts = -q\n"),
        ("setup.cfg", b"[metadata]\nname = x\n\n[tool:pytest]\naddopts = -q\n\n[x]\ny = [1]\n"),
        ("setup.cfg", b"[options.extras_require]\ntests = pytest\n[tool:pytest]\naddopts = -q\n"),
        ("pyproject.toml", b'[project]\nname = "y"\n[tool.pytest.ini_options]\naddopts = "-q"\n'),
    ],
)
def test_ordinary_work_is_not(tmp_path: Path, path: str, content: bytes) -> None:
    assert found(tmp_path, {path: content}) == {}


def test_a_module_that_was_there_before_may_change(tmp_path: Path) -> None:
    before: Spec = {"pluggy/__init__.py": b"", "pluggy/x.py": b""}
    assert found(tmp_path, {"pluggy/__init__.py": b"changed"}, before) == {}
