"""In place a program works on the operator's own folder, as its owner, and on nothing else."""

from __future__ import annotations

import os

import pytest

from runners.errors import WorkspaceError

pytestmark = pytest.mark.docker

OWNER = os.geteuid() or 1234


@pytest.fixture
def folder(tmp_path):
    """A folder of a user who is not root, reachable by the engine."""
    made = tmp_path / "project"
    (made / ".git/hooks").mkdir(parents=True)
    (made / "code.py").write_text("old\n")
    if os.geteuid() == 0:
        for path in (made, *made.rglob("*")):
            os.chown(path, OWNER, OWNER)
    return made


async def test_a_program_changes_the_folder_itself_as_its_owner(open_box, folder):
    box = await open_box(in_place=folder)
    assert (await box.sh("echo new > code.py; echo x > made; id -u")).stdout.text() == f"{OWNER}\n"
    assert (folder / "code.py").read_text() == "new\n"
    assert (folder / "made").stat().st_uid == OWNER


async def test_nothing_beside_the_folder_can_be_seen(open_box, folder):
    (folder.parent / "secret").write_text("secret")
    box = await open_box(in_place=folder)
    assert "secret" not in (await box.sh("ls -la / /workspace/..")).stdout.text()


async def test_a_protected_path_can_be_read_and_not_changed(open_box, folder):
    box = await open_box(in_place=folder, protect=(".git/hooks",))
    outcome = await box.sh("ls .git/hooks && echo x > .git/hooks/pre-commit")
    assert outcome.code == 1
    assert "Read-only file system" in outcome.stderr.text()
    assert list((folder / ".git/hooks").iterdir()) == []


async def test_a_protected_path_that_is_a_link_is_refused(open_box, folder):
    (folder / "link").symlink_to("code.py")
    with pytest.raises(WorkspaceError, match="goes through a link"):
        await open_box(in_place=folder, protect=("link",))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root owns a folder of root")
async def test_a_folder_of_root_is_refused(open_box, tmp_path):
    with pytest.raises(WorkspaceError, match="belongs to root"):
        await open_box(in_place=tmp_path)


async def test_a_folder_that_is_missing_is_refused(open_box, tmp_path):
    with pytest.raises(WorkspaceError, match="No such file"):
        await open_box(in_place=tmp_path / "nowhere")
