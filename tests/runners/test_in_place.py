"""Working on a host folder itself, in the local boxes (decision 21)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from policies import Pipeline, Stage
from runners.bubblewrap import BubblewrapRunner
from runners.contract import Runner, SessionSpec
from runners.errors import UnavailableError, WorkspaceError
from runners.outcome import Outcome
from runners.process import ProcessRunner

OWNER = 1879052000  # nobody's, and no session's

BOXES = [
    pytest.param(BubblewrapRunner, id="bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param(ProcessRunner, id="process"),
]


@pytest.fixture
def project() -> Iterator[Path]:
    """A folder of a plain user's, which that user can reach (pytest's own are closed)."""
    with tempfile.TemporaryDirectory() as above:
        os.chmod(above, 0o711)
        folder = Path(above, "project")
        (folder / ".git/hooks").mkdir(parents=True)
        (folder / "file.txt").write_text("old")
        if os.geteuid() == 0:
            for path in (folder, folder / ".git", folder / ".git/hooks", folder / "file.txt"):
                os.chown(path, OWNER, OWNER)
        yield folder


async def shell(runner: Runner, spec: SessionSpec, text: str) -> Outcome:
    session = await runner.open(spec)
    try:
        return await session.run(Pipeline((Stage(("sh", "-c", text)),)))
    finally:
        await session.close()


@pytest.mark.parametrize("make", BOXES)
async def test_changes_are_made_in_the_folder_itself(
    make: Callable[[], Runner], project: Path
) -> None:
    spec = SessionSpec(run="r", in_place=project)
    outcome = await shell(make(), spec, "cat file.txt && printf new > file.txt && touch made")
    assert (outcome.code, outcome.stdout.data) == (0, b"old")
    assert (project / "file.txt").read_text() == "new"
    assert (project / "made").stat().st_uid == project.stat().st_uid


@pytest.mark.parametrize("make", BOXES)
async def test_protected_paths_cannot_be_written_to(
    make: Callable[[], Runner], project: Path
) -> None:
    spec = SessionSpec(run="r", in_place=project, protect=(".git",))
    text = "touch .git/hooks/post-commit; mv .git elsewhere; rm -rf .git; touch made"
    await shell(make(), spec, text)
    assert sorted(path.name for path in project.iterdir()) == [".git", "file.txt", "made"]
    assert list((project / ".git").iterdir()) == [project / ".git/hooks"]
    assert list((project / ".git/hooks").iterdir()) == []


@pytest.mark.parametrize("make", BOXES)
async def test_one_session_at_a_time_works_in_a_folder(
    make: Callable[[], Runner], project: Path
) -> None:
    spec = SessionSpec(run="r", in_place=project)
    first = await make().open(spec)
    try:
        with pytest.raises(UnavailableError, match="another session works in"):
            await make().open(spec)
    finally:
        await first.close()
    assert (await shell(make(), spec, "true")).ok


@pytest.mark.parametrize("make", BOXES)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root has folders of root's")
async def test_a_folder_of_roots_is_refused(make: Callable[[], Runner], tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="belongs to root"):
        await make().open(SessionSpec(run="r", in_place=tmp_path))


@pytest.mark.parametrize("make", BOXES)
async def test_a_folder_that_is_missing_is_the_operators_mistake(
    make: Callable[[], Runner], tmp_path: Path
) -> None:
    with pytest.raises(WorkspaceError, match="No such file"):
        await make().open(SessionSpec(run="r", in_place=tmp_path / "none"))


async def test_without_a_mount_namespace_it_is_refused(project: Path) -> None:
    with pytest.raises(UnavailableError, match="cannot work in place"):
        await ProcessRunner(namespaces=False).open(SessionSpec(run="r", in_place=project))


@pytest.mark.parametrize("field", [{"workspace": "/testbed"}, {"image": "node"}])
async def test_without_a_mount_namespace_fixed_paths_and_images_are_refused(
    field: dict[str, str],
) -> None:
    with pytest.raises(UnavailableError, match="no mount namespace here"):
        await ProcessRunner(namespaces=False).open(SessionSpec(run="r", **field))


@pytest.mark.parametrize("make", BOXES)
async def test_a_workspace_can_lie_where_an_image_wants_it(make: Callable[[], Runner]) -> None:
    spec = SessionSpec(run="r", workspace="/usr/src/app")
    outcome = await shell(make(), spec, "pwd; touch x && ls; ls /usr/bin/git")
    assert outcome.stdout.data == b"/usr/src/app\nx\n/usr/bin/git\n"


@pytest.mark.parametrize("make", BOXES)
async def test_an_image_that_is_not_built_is_named_with_the_cure(
    make: Callable[[], Runner],
) -> None:
    with pytest.raises(UnavailableError, match="run `stockade images build no-such-image`"):
        await make().open(SessionSpec(run="r", image="no-such-image"))
