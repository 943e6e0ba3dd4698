from __future__ import annotations

from pathlib import Path

import pytest

from harness.task import Check
from harness.verify import set_scene
from harness.verify.scene import test_homes as homes_of
from runners.workspace import CopiedIn, CopiedOut, compare, snapshot


@pytest.mark.parametrize(
    ("file", "home"),
    [
        ("tests/test_a.py", "tests"),
        ("tests/unit/test_a.py", "tests"),
        ("pkg/tests/test_a.py", "pkg/tests"),
        ("unit_tests/test_a.py", "unit_tests"),
        ("pkg/test_a.py", "pkg/test_a.py"),
        ("test_a.py", "test_a.py"),
        ("latest/test_a.py", "latest/test_a.py"),
    ],
)
def test_a_test_brings_its_folder_of_tests_but_no_code(file: str, home: str) -> None:
    assert homes_of(Check(argv=("x",), tests=(f"{file}::test_a",)), None) == (home,)


def test_a_test_that_the_task_brings_has_no_home_in_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("")
    assert homes_of(Check(argv=("x",), tests=("test_a.py::test_a",)), tmp_path) == ()


class Workspace:
    """A folder as it went in, and as an agent left it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = root / "source"
        self.write("calc.py", "bug\n")
        self.write("tests/test_calc.py", "real\n")
        self.write("tests/data.txt", "data\n")

    def write(self, path: str, text: str) -> None:
        file = self.source / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    async def went_in(self) -> CopiedIn:
        return await snapshot(self.source, self.root / "in.tar")

    async def came_out(self, copied: CopiedIn) -> CopiedOut:
        return await compare(copied, self.root / "result")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


STRONG = Check(argv=("x",), tests=("tests/test_calc.py::test_a",))


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


async def test_tests_are_as_they_went_in_and_the_rest_is_as_it_came_out(workspace) -> None:
    copied = await workspace.went_in()
    workspace.write("calc.py", "mended\n")
    workspace.write("tests/test_calc.py", "edited\n")
    workspace.write("tests/extra.py", "added\n")
    (workspace.source / "tests" / "data.txt").unlink()
    scene = set_scene(STRONG, None, copied, await workspace.came_out(copied))
    assert files(scene.result) == {
        "calc.py": "mended\n",
        "tests/test_calc.py": "real\n",
        "tests/data.txt": "data\n",
    }


async def test_a_link_in_the_place_of_the_tests_is_replaced_by_the_tests(workspace) -> None:
    copied = await workspace.went_in()
    (workspace.source / "tests").rename(workspace.source / "elsewhere")
    workspace.write("elsewhere/test_calc.py", "edited\n")
    (workspace.source / "tests").symlink_to("elsewhere")
    scene = set_scene(STRONG, None, copied, await workspace.came_out(copied))
    assert (scene.result / "tests").is_symlink() is False
    assert (scene.result / "tests" / "test_calc.py").read_text() == "real\n"


async def test_planted_files_are_left_out_in_the_strong_form(workspace) -> None:
    copied = await workspace.went_in()
    workspace.write("conftest.py", "planted\n")
    scene = set_scene(STRONG, None, copied, await workspace.came_out(copied))
    found = [(one.path, one.left_out) for one in scene.findings]
    assert (found, (scene.result / "conftest.py").exists()) == ([("conftest.py", True)], False)


@pytest.mark.parametrize(
    ("left_out", "stays"),
    [(False, True), (True, False), (("conftest.py",), False), (("*.pth",), True)],
)
async def test_with_a_script_the_task_says_what_is_left_out(workspace, left_out, stays) -> None:
    copied = await workspace.went_in()
    workspace.write("pkg/conftest.py", "planted\n")
    out = await workspace.came_out(copied)
    scene = set_scene(Check(left_out=left_out), None, copied, out)
    assert (scene.result / "pkg" / "conftest.py").exists() is stays


async def test_a_changed_start_up_file_is_as_it_went_in(workspace) -> None:
    workspace.write("conftest.py", "original\n")
    copied = await workspace.went_in()
    workspace.write("conftest.py", "planted\n")
    scene = set_scene(STRONG, None, copied, await workspace.came_out(copied))
    assert (scene.result / "conftest.py").read_text() == "original\n"
