"""Opening below a folder: openat2 and our own walk give one answer, and never one outside."""

from __future__ import annotations

import errno
import os
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runners.supervisor import path, system

WAYS = ["openat2", "walk"]


@pytest.fixture(params=WAYS)
def open_beneath(request, monkeypatch):
    """The function, by either way."""
    if request.param == "openat2" and not path.has_openat2():
        pytest.skip("this kernel has no openat2")
    monkeypatch.setattr(path, "_openat2", request.param == "openat2")
    return path.open_beneath


@pytest.fixture
def root(tmp_path):
    """A folder with links of every kind; next to it stands something to escape to."""
    (tmp_path / "secret").write_text("secret")
    top = tmp_path / "root"
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "file").write_text("inside")
    for name, target in {
        "to-folder": "a/b",
        "to-file": "a/file",
        "up-and-down": "a/b/../file",
        "absolute": "/etc/passwd",
        "absolute-inside": str(top / "a" / "file"),
        "out": "../secret",
        "a/out": "../../secret",
        "loop": "loop",
        "dangling": "nothing",
        "chain": "chain1",
        "chain1": "to-file",
        "magic": "/proc/self/root",
    }.items():
        (top / name).symlink_to(target)
    os.mkfifo(top / "fifo")
    fd = os.open(top, os.O_RDONLY)
    yield fd
    os.close(fd)


def result(open_beneath, root, name, flags=os.O_RDONLY):
    """The content, "folder", or the name of the error."""
    try:
        fd = open_beneath(root, name.encode(), flags, 0o600)
    except OSError as error:
        return errno.errorcode[error.errno]
    try:
        return os.read(fd, 100).decode()
    except OSError as error:
        return errno.errorcode[error.errno]
    finally:
        os.close(fd)


@pytest.mark.req("S-123", "S-124")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a/file", "inside"),
        ("./a//./file", "inside"),
        ("a/../a/file", "inside"),
        ("to-file", "inside"),
        ("up-and-down", "inside"),
        ("to-folder/../file", "inside"),
        ("chain", "inside"),
        ("", "EISDIR"),
        (".", "EISDIR"),
        ("to-folder", "EISDIR"),
        ("..", "EXDEV"),
        ("a/../..", "EXDEV"),
        ("a/../../root/a/file", "EXDEV"),
        ("/etc/passwd", "EXDEV"),
        ("absolute", "EXDEV"),
        ("absolute-inside", "EXDEV"),
        ("out", "EXDEV"),
        ("a/out", "EXDEV"),
        ("magic/etc/passwd", "EXDEV"),
        ("loop", "ELOOP"),
        ("dangling", "ENOENT"),
        ("missing/x", "ENOENT"),
        ("a/file/x", "ENOTDIR"),
        ("a/file/", "ENOTDIR"),
        ("x" * 300, "ENAMETOOLONG"),
        ("a\0b", "EINVAL"),
        ("fifo", ""),
    ],
)
def test_a_path_is_opened_below_the_root_or_not_at_all(open_beneath, root, name, expected):
    assert result(open_beneath, root, name) == expected


@pytest.mark.parametrize("name", ["out", "absolute", "../new", "a/../../new"])
def test_nothing_is_made_outside(open_beneath, root, tmp_path, name):
    before = sorted(tmp_path.iterdir())
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    assert result(open_beneath, root, name, flags) == "EXDEV"
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "secret").read_text() == "secret"


def test_a_file_is_made_through_a_link_that_stays_inside(open_beneath, root):
    os.close(open_beneath(root, b"dangling", os.O_WRONLY | os.O_CREAT, 0o600))
    assert os.stat("nothing", dir_fd=root).st_mode & 0o777 == 0o600


def test_descriptors_are_not_inherited_and_do_not_block(open_beneath, root):
    fd = open_beneath(root, b"fifo", os.O_RDONLY)
    assert (os.get_inheritable(fd), os.get_blocking(fd)) == (False, False)
    os.close(fd)


def test_no_descriptor_is_left_open(open_beneath, root):
    before = os.listdir("/proc/self/fd")
    for name in ("a/b/..", "loop", "out", "missing/x", "to-folder/../file"):
        result(open_beneath, root, name)
    assert len(os.listdir("/proc/self/fd")) == len(before)


PARTS = st.sampled_from(
    ["a", "b", "file", "..", ".", "", "to-folder", "to-file", "out", "absolute", "loop", "x"]
)


@settings(suppress_health_check=list(HealthCheck), max_examples=300)
@given(parts=st.lists(PARTS, max_size=7))
def test_both_ways_agree(root, parts):
    if not path.has_openat2():
        pytest.skip("this kernel has no openat2")
    name = "/".join(parts)
    one = result(path.open_beneath, root, name)
    path._openat2 = False
    try:
        other = result(path.open_beneath, root, name)
    finally:
        path._openat2 = True
    assert one == other


def test_a_folder_that_is_swapped_for_a_link_never_leads_outside(open_beneath, root, tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "file").write_text("secret")
    (tmp_path / "root" / "a" / "b" / "file").write_text("inside")
    (tmp_path / "root" / "swap").symlink_to(tmp_path / "b")
    stop = threading.Event()

    def swap() -> None:
        exchange, renameat2 = 2, 276 if system.ARM64 else 316
        while not stop.is_set():
            system.syscall(renameat2, root, b"a/b\0", root, b"swap\0", exchange)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        found = {result(open_beneath, root, "a/b/file") for _ in range(3000)}
    finally:
        stop.set()
        thread.join()
    assert "inside" in found
    assert found <= {"inside", "EXDEV", "ENOENT", "ENOTDIR", "EAGAIN", "ELOOP"}
