"""Where control groups can be made, told from the kernel's own tables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runners.cgroup import Cgroup, Hierarchy, find_hierarchy, hierarchy

VERSION_1 = """\
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,nosuid 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,nosuid,memory 0 0
cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0
"""
OWN_1 = "9:memory:/user.slice/x\n8:pids:/\n0::/\n"
VERSION_2 = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n"


def test_version_1_groups_lie_below_our_own() -> None:
    found = find_hierarchy(VERSION_1, OWN_1)
    memory = Path("/sys/fs/cgroup/memory/user.slice/x")
    assert found == Hierarchy(1, memory, Path("/sys/fs/cgroup/pids"))


def test_version_2_groups_lie_at_the_root() -> None:
    found = find_hierarchy(VERSION_2, "0::/user.slice\n")
    assert found == Hierarchy(2, Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup"))


def test_a_hybrid_without_memory_is_no_place() -> None:
    mounts = VERSION_1.replace("memory", "blkio")
    assert find_hierarchy(mounts, OWN_1) is None


def test_no_cgroups_is_no_place() -> None:
    assert find_hierarchy("proc /proc proc rw 0 0\n", "") is None


def test_counters_are_shown_where_a_container_has_them() -> None:
    first = Cgroup(1, Path("/m/x"), Path("/p/x"))
    second = Cgroup(2, Path("/c/x"), Path("/c/x"))
    shown = [[(bind.source, bind.target) for bind in group.binds] for group in (first, second)]
    assert shown == [
        [("/m/x", "/sys/fs/cgroup/memory"), ("/p/x", "/sys/fs/cgroup/pids")],
        [("/c/x", "/sys/fs/cgroup")],
    ]


def test_version_2_limits_are_written_before_anybody_enters(tmp_path: Path) -> None:
    group = Cgroup(2, tmp_path, tmp_path)
    (tmp_path / "memory.swap.max").write_text("max")
    group._limit(1 << 20, 7)
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert written == {"memory.max": "1048576", "memory.swap.max": "0", "pids.max": "7"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes control groups")
def test_a_real_group_can_be_made_and_is_gone_again() -> None:
    if hierarchy() is None:
        pytest.skip("this machine gives no control groups")
    group = Cgroup.make("test-of-a-group", 64, 16)
    assert group is not None
    assert all(Path(entry).exists() for entry in group.entries)
    group.remove()
    group.remove()
    assert not any(Path(entry).parent.exists() for entry in group.entries)
