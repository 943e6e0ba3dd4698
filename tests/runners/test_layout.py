"""Layouts: the root folder of a local box as data."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies import Limits
from runners.contract import SessionSpec
from runners.errors import WorkspaceError
from runners.layout import (
    PROCESSORS,
    Bind,
    Folder,
    Link,
    Tmpfs,
    accounts,
    box_roots,
    host_layout,
    shares,
    tree_layout,
)


def make_tree(folder: Path) -> Path:
    for name in ("usr/bin", "usr/src", "etc", "home/agent", "var", "workspace", "proc"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_text("")
    (folder / "bin").symlink_to("usr/bin")
    (folder / "readme").write_text("")
    return folder


def targets(mounts: object) -> list[str]:
    return [mount.target for mount in mounts]


def test_a_tree_is_bound_entry_by_entry_and_links_stay_links(tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    layout = tree_layout(tree, SessionSpec(run="r"))
    assert layout.system == (
        Link("usr/bin", "/bin"),
        Bind(f"{tree}/etc", "/etc"),
        Folder("/home"),
        Bind(f"{tree}/home/agent", "/home/agent"),
        Bind(f"{tree}/readme", "/readme"),
        Bind(f"{tree}/usr", "/usr"),
        Bind(f"{tree}/var", "/var"),
        PROCESSORS,
    )


def test_an_empty_folder_of_the_tree_is_made_again(tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    (tree / "srv").mkdir(mode=0o755)
    assert Folder("/srv") in tree_layout(tree, SessionSpec(run="r")).system


@pytest.mark.parametrize("mode", [0o700, 0o1777, 0o775])
def test_an_empty_folder_with_rights_of_its_own_is_bound(mode: int, tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    (tree / "srv").mkdir()
    (tree / "srv").chmod(mode)
    assert Bind(f"{tree}/srv", "/srv") in tree_layout(tree, SessionSpec(run="r")).system


def test_a_workspace_that_the_tree_lacks_gets_a_mount_point(tmp_path: Path) -> None:
    layout = tree_layout(make_tree(tmp_path), SessionSpec(run="r", workspace="/usr/src/app"))
    assert Folder("/usr/src") in layout.system
    assert Bind(f"{tmp_path}/usr/bin", "/usr/bin") in layout.system
    assert Bind(f"{tmp_path}/usr", "/usr") not in layout.system
    assert layout.roots["workspace"] == "/usr/src/app"


def test_a_workspace_that_the_tree_has_leaves_its_folder_whole(tmp_path: Path) -> None:
    (make_tree(tmp_path) / "usr/src/app").mkdir()
    layout = tree_layout(tmp_path, SessionSpec(run="r", workspace="/usr/src/app"))
    assert Bind(f"{tmp_path}/usr", "/usr") in layout.system


def test_nothing_of_the_tree_is_writable(tmp_path: Path) -> None:
    layout = tree_layout(make_tree(tmp_path), SessionSpec(run="r"))
    assert not any(isinstance(mount, Bind) and mount.writable for mount in layout.mounts)


def test_every_writable_folder_has_a_size(tmp_path: Path) -> None:
    layout = tree_layout(make_tree(tmp_path), SessionSpec(run="r"))
    sizes = {mount.target: mount.size_mib for mount in layout.writable if isinstance(mount, Tmpfs)}
    assert sizes == {
        "/workspace": 384,
        "/tmp": 128,
        "/tests": 64,
        "/logs": 64,
        "/solution": 64,
        "/home/box": 64,
        "/dev/shm": 64,
    }


def test_outer_folders_are_mounted_before_those_in_them(tmp_path: Path) -> None:
    layout = tree_layout(make_tree(tmp_path), SessionSpec(run="r", workspace="/tmp/deep/er"))
    order = targets(layout.writable)
    assert order.index("/tmp") < order.index("/tmp/deep/er")


@given(st.integers(min_value=1, max_value=1 << 20))
def test_workspace_and_temporary_files_share_the_disk_limit(disk: int) -> None:
    sizes = shares(Limits(disk_mib=disk))
    assert all(size >= 1 for size in sizes.values())
    assert sizes["workspace"] + sizes["tmp"] <= max(disk, 2)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "relative",
        "/",
        "/usr",
        "/etc",
        "/proc/x",
        "/dev/shm",
        "/sys",
        "/a/../b",
        "/tests",
        "/a//b",
    ],
)
def test_a_workspace_may_not_hide_the_system(path: str) -> None:
    with pytest.raises(WorkspaceError):
        box_roots(path)


@pytest.mark.parametrize("path", ["/workspace", "/testbed", "/usr/src/app", "/root/project"])
def test_a_workspace_may_lie_where_an_image_wants_it(path: str) -> None:
    assert box_roots(path)["workspace"] == path


def test_the_host_is_seen_through_its_programs_only(tmp_path: Path) -> None:
    (tmp_path / "bin").symlink_to("usr/bin")
    (tmp_path / "lib64").mkdir()
    layout = host_layout(SessionSpec(run="r"), python="/usr/bin/python3", host=tmp_path)
    binds = [mount for mount in layout.system if isinstance(mount, Bind)]
    whole = [mount.target for mount in binds if mount.target.count("/") == 1]
    assert whole == ["/usr", "/lib64"]
    assert Link("usr/bin", "/bin") in layout.system
    assert not {"/etc/passwd", "/etc/shadow", "/etc/hosts"} & {mount.source for mount in binds}
    assert layout.image == {"name": "host"}


def test_an_interpreter_outside_usr_is_bound_at_its_own_path() -> None:
    spec = SessionSpec(run="r")
    layout = host_layout(spec, python="/opt/py/bin/python3", prefix="/opt/py")
    assert Bind("/opt/py", "/opt/py") in layout.system
    assert layout.python == "/opt/py/bin/python3"


def test_the_account_files_name_the_user_of_the_box() -> None:
    users, groups = accounts(4711, 4712)
    assert b"box:x:4711:4712:box:/home/box:/bin/sh\n" in users.data
    assert b"box:x:4712:\n" in groups.data


def test_protected_paths_are_read_only_over_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "work/.git/hooks").mkdir(parents=True)
    work = tmp_path / "work"
    spec = SessionSpec(run="r", in_place=work, protect=(".git/hooks", "absent"))
    layout = host_layout(spec, python="/usr/bin/python3")
    mounts = [mount for mount in layout.writable if isinstance(mount, Bind)]
    assert mounts == [
        Bind(str(work), "/workspace", writable=True),
        Bind(f"{work}/.git/hooks", "/workspace/.git/hooks"),
    ]


@pytest.mark.parametrize("path", ["../up", "a/../b", "", "./a"])
def test_a_protected_path_is_plain(tmp_path: Path, path: str) -> None:
    spec = SessionSpec(run="r", in_place=tmp_path, protect=(path,))
    with pytest.raises(WorkspaceError):
        host_layout(spec, python="/usr/bin/python3")


def test_a_protected_path_over_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".git").symlink_to("/root")
    spec = SessionSpec(run="r", in_place=tmp_path, protect=(".git/hooks",))
    with pytest.raises(WorkspaceError, match="leads over a link"):
        host_layout(spec, python="/usr/bin/python3")
