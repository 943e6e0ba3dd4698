"""A workspace is at a place that the box does not need itself."""

from __future__ import annotations

import pytest

from policies import Limits
from runners.contract import SessionSpec
from runners.docker.endpoint import Endpoint
from runners.docker.place import Place, place_of
from runners.errors import WorkspaceError

LOCAL = Endpoint("unix", "/s")
USER = (1000, 1000)


@pytest.mark.parametrize("path", ["/workspace", "/app/src", "/root", "/home/me/x", "/tmp/x"])
def test_other_places_can_be_used(path):
    assert place_of(LOCAL, SessionSpec(run="r", workspace=path), USER) == Place(USER)


@pytest.mark.parametrize(
    "path", ["/usr/src", "/etc", "/proc/1", "/tests", "/logs/x", "/tmp", "/home/box", "/dev"]
)
def test_a_place_that_the_box_needs_is_refused(path):
    with pytest.raises(WorkspaceError, match="needs itself"):
        place_of(LOCAL, SessionSpec(run="r", workspace=path), USER)


@pytest.mark.parametrize("path", ["", "/", "x", "/a/../b", "/a/", "//a", "/a:b", "/a\0b", "/a/./b"])
def test_a_path_that_is_not_plain_is_refused(path):
    with pytest.raises(WorkspaceError, match="not a plain absolute path"):
        place_of(LOCAL, SessionSpec(run="r", workspace=path), USER)


def test_only_a_workspace_that_does_not_fit_goes_to_disk():
    limits = Limits(disk_mib=400)  # of which the workspace gets 300
    on_disk = {
        size: place_of(LOCAL, SessionSpec("r", limits=limits, workspace_mib=size), USER).on_disk
        for size in (0, 100, 270, 271, 5000)
    }
    assert on_disk == {0: False, 100: False, 270: False, 271: True, 5000: True}
