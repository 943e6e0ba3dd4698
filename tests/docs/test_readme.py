"""The commands of the README and the guides do what they say: they are run as they stand.

A ``console`` block holds commands that are run here, in order, from the root of the checkout; a
comment `# exit N` names another code than 0. A ``sh`` block is for reading: it needs a model, a
project of the reader's own, or takes long.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.tools import builtin_tools
from policies import load
from runners import ScriptedSession

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/ci.md", "docs/tasks.md"]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEW = "my-task"
"""A folder that a page makes: here it is made on the desk, not in the checkout."""
LINK = re.compile(r"\]\(([^)#:\s]+)\)")


@dataclass(frozen=True)
class Line:
    """A command of a page, and the code that the page says it ends with."""

    text: str
    code: int

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text)


def lines(page: str) -> Iterator[Line]:
    """The commands of a page."""
    for block in BLOCK.findall((ROOT / page).read_text("utf-8")):
        for line in block.splitlines():
            if line.startswith("$ "):
                text, _, code = line[2:].partition("  # exit ")
                yield Line(text, int(code or 0))


@dataclass(frozen=True)
class Desk:
    """Where a reader types: folders of his own, and bubblewrap as the box, since it starts fast."""

    root: Path

    def type(self, line: Line) -> subprocess.CompletedProcess[str]:
        environ = {
            key: os.environ[key] for key in ("PATH", "HOME", "XDG_CACHE_HOME") if key in os.environ
        }
        folders = {"XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config"}
        environ |= {key: str(self.root / name) for key, name in folders.items()}
        words = [str(self.root / word) if word == NEW else word for word in line.words]
        assert words[0] == "stockade"
        code = "from harness.cli import main; main()"
        return subprocess.run(
            [sys.executable, "-c", code, *words[1:]],
            cwd=ROOT,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """One desk for all lines: later ones look at what earlier ones left."""
    import sandbox_images

    sandbox_images.build("python", host_fallback=True, progress=lambda _: None)
    root = tmp_path_factory.mktemp("desk")
    (root / "config" / "stockade").mkdir(parents=True)
    (root / "config" / "stockade" / "config.toml").write_text('runner = "bubblewrap"\n')
    return Desk(root)


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    "line", [pytest.param(line, id=line.text) for page in PAGES for line in lines(page)]
)
def test_a_command_ends_as_the_page_says(desk: Desk, line: Line) -> None:
    done = desk.type(line)
    assert done.returncode == line.code, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("page", sorted(p.relative_to(ROOT) for p in ROOT.glob("docs/**/*.md")))
def test_links_of_a_guide_lead_somewhere(page: Path) -> None:
    links = LINK.findall((ROOT / page).read_text("utf-8"))
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_links_of_the_readme_lead_somewhere() -> None:
    links = LINK.findall((ROOT / "README.md").read_text("utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_guide_can_be_found_from_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert [page for page in sorted(pages) if f"({page})" not in index] == []


def test_every_decision_can_be_found_from_its_index() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text("utf-8")
    pages = {path.name for path in folder.glob("*.md")} - {"README.md"}
    assert [page for page in sorted(pages) if f"({page})" not in index] == []
    assert [page for page in sorted(pages) if not re.fullmatch(r"\d{4}-[a-z-]+\.md", page)] == []


def test_the_tools_are_described_as_they_are(tmp_path: Path) -> None:
    from harness.artifact import ArtifactStore

    text = (ROOT / "docs" / "tasks.md").read_text("utf-8").partition("## The tools")[2]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE)
    described = {name: set(re.findall(r"`\[?(\w+)\]?`", row)) for name, row in rows}
    tools = builtin_tools(ScriptedSession(), load("readonly"), artifacts=ArtifactStore(tmp_path))
    assert described == {tool.name: set(tool.parameters["properties"]) for tool in tools}
