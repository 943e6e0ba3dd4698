"""Reading, writing and listing below a root, whatever a program put there."""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
import stat

import pytest

from runners.supervisor.fault import Refusal
from runners.supervisor.files import list_dir, read_file, write_file

from .conftest import Place


def code(call: object, *arguments: object) -> str:
    with pytest.raises(Refusal) as caught:
        call(*arguments)  # type: ignore[operator]
    return caught.value.code


def read(place: Place, path: bytes, offset: int = 0, limit: int = 100) -> bytes:
    return read_file(place.root, path, offset, limit)[0]


def write(place: Place, path: bytes, data: bytes, **more: object) -> tuple[int, bool]:
    return write_file(place.root, path, data, more.get("mode"), more.get("expect"))  # type: ignore[arg-type]


def test_a_range_of_a_file_is_read_with_its_size_and_mode(place: Place) -> None:
    (place.folder / "f").write_bytes(b"0123456789")
    (place.folder / "f").chmod(0o640)
    assert read_file(place.root, b"f", 3, 4) == (b"3456", 10, 0o640)
    assert read_file(place.root, b"f", 8, 4) == (b"89", 10, 0o640)
    assert read_file(place.root, b"f", 99, 4) == (b"", 10, 0o640)


@pytest.mark.req("S-123", "S-124", "S-125")
@pytest.mark.parametrize(
    "path",
    [
        b"../root-secret/secret",
        b"a/../../root-secret/secret",
        b"out/secret",
        b"absolute",
        b"to-out",
    ],
)
def test_nothing_outside_is_read_or_written(place: Place, path: bytes) -> None:
    (place.folder / "a").mkdir()
    (place.folder / "out").symlink_to(place.outside)
    (place.folder / "absolute").symlink_to(place.outside / "secret")
    (place.folder / "to-out").symlink_to("../root-secret/secret")
    assert code(read, place, path) == "path-escape"
    assert code(write, place, path, b"changed") == "path-escape"
    assert (place.outside / "secret").read_bytes() == b"outside"
    assert sorted(os.listdir(place.outside)) == ["secret"]


@pytest.mark.req("S-127")
def test_an_absolute_path_is_refused(place: Place) -> None:
    assert code(read, place, b"/etc/passwd") == "path-escape"
    assert code(write, place, os.fsencode(place.outside / "new"), b"") == "path-escape"


@pytest.mark.req("S-126")
def test_the_root_itself_is_inside(place: Place) -> None:
    (place.folder / "f").touch()
    assert list_dir(place.root, b".", 10)[1] == list_dir(place.root, b"", 10)[1] == 1


def test_a_link_that_stays_inside_is_followed(place: Place) -> None:
    (place.folder / "d").mkdir()
    (place.folder / "d" / "f").write_bytes(b"old")
    (place.folder / "l").symlink_to("d/f")
    (place.folder / "k").symlink_to("d")
    assert read(place, b"l") == b"old"
    assert write(place, b"l", b"new") == (3, False)
    assert write(place, b"k/g", b"more") == (4, True)
    assert (place.folder / "l").is_symlink()
    assert (place.folder / "d" / "f").read_bytes() == b"new"
    assert (place.folder / "d" / "g").read_bytes() == b"more"


def test_a_dangling_link_inside_names_a_new_file(place: Place) -> None:
    (place.folder / "l").symlink_to("not/yet")
    assert write(place, b"l", b"x") == (1, True)
    assert (place.folder / "not" / "yet").read_bytes() == b"x"


def test_links_in_a_circle_are_a_loop(place: Place) -> None:
    (place.folder / "a").symlink_to("b")
    (place.folder / "b").symlink_to("a")
    assert code(read, place, b"a") == "loop"
    assert code(write, place, b"a", b"") == "loop"


def test_special_files_are_refused_without_waiting(place: Place) -> None:
    os.mkfifo(place.folder / "fifo")
    (place.folder / "dir").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place.folder / "socket"))
    for path in (b"fifo", b"socket", b"dir"):
        assert code(read, place, path) == "not-a-file"
        assert code(write, place, path, b"") == "not-a-file"


@pytest.mark.skipif(os.getuid() != 0, reason="making a device needs root")
def test_a_device_is_refused(place: Place) -> None:
    os.mknod(place.folder / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    assert code(read, place, b"null") == "not-a-file"
    assert code(write, place, b"null", b"") == "not-a-file"


def test_a_file_under_a_lease_is_busy(place: Place) -> None:
    (place.folder / "f").write_bytes(b"x")
    holder = os.open(place.folder / "f", os.O_RDWR)
    try:
        fcntl.fcntl(holder, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(holder, fcntl.F_SETSIG, 23)  # SIGURG: ignored unless somebody asks
        assert code(read, place, b"f") == "busy"
    finally:
        os.close(holder)


@pytest.mark.req("S-132")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (b"missing", "not-found"),
        (b"f/below", "not-a-folder"),
        (b"n" * 300, "name"),
        (b"a\0b", "name"),
    ],
)
def test_what_is_not_there_says_why(place: Place, path: bytes, expected: str) -> None:
    (place.folder / "f").touch()
    assert code(read, place, path) == expected


def test_a_sparse_file_costs_only_what_is_read(place: Place) -> None:
    (place.folder / "f").touch()
    os.truncate(place.folder / "f", 1 << 40)
    assert read_file(place.root, b"f", 1 << 39, 3) == (b"\0\0\0", 1 << 40, 0o644)


def test_writing_makes_folders_and_keeps_the_mode(place: Place) -> None:
    assert write(place, b"a/b/c.sh", b"1") == (1, True)
    (place.folder / "a/b/c.sh").chmod(0o751)
    assert write(place, b"a/b/c.sh", b"22") == (2, False)
    assert (place.folder / "a/b/c.sh").read_bytes() == b"22"
    assert stat.S_IMODE((place.folder / "a/b/c.sh").stat().st_mode) == 0o751
    assert write(place, b"a/./new//d/../e", b"") == (0, True)
    assert sorted(os.listdir(place.folder / "a")) == ["b", "new"]


def test_a_given_mode_is_set_without_its_special_bits(place: Place) -> None:
    write(place, b"f", b"", mode=0o6755)
    assert stat.S_IMODE((place.folder / "f").stat().st_mode) == 0o755


def test_the_other_name_of_a_file_keeps_the_old_content(place: Place) -> None:
    (place.outside / "store").write_bytes(b"shared")
    os.link(place.outside / "store", place.folder / "f")
    write(place, b"f", b"mine")
    assert (place.outside / "store").read_bytes() == b"shared"
    assert (place.folder / "f").read_bytes() == b"mine"


def test_only_the_expected_content_is_replaced(place: Place) -> None:
    (place.folder / "f").write_bytes(b"old")
    digest = hashlib.sha256(b"old").digest()
    assert code(lambda: write(place, b"f", b"new", expect=b"\0" * 32)) == "changed"
    assert code(lambda: write(place, b"f", b"new", expect=b"")) == "exists"
    assert code(lambda: write(place, b"g", b"new", expect=digest)) == "not-found"
    assert write(place, b"f", b"new", expect=digest) == (3, False)
    assert write(place, b"g", b"new", expect=b"") == (3, True)


def test_a_write_that_fails_leaves_nothing_behind(place: Place) -> None:
    (place.folder / "d").mkdir()
    assert code(write, place, b"d", b"") == "not-a-file"
    assert code(write, place, b"d/" + b"n" * 300, b"") == "name"
    assert os.listdir(place.folder / "d") == []


def test_a_folder_is_listed_in_byte_order_with_kinds(place: Place) -> None:
    names = [b"b", b"B", b"a\n", b"\xff", b"-x", b"\x1b[0m", "é".encode()]
    for name in names:
        os.close(os.open(os.fsencode(place.folder) + b"/" + name, os.O_CREAT, 0o600))
    (place.folder / "dir").mkdir(0o755)
    (place.folder / "link").symlink_to("/nowhere")
    os.mkfifo(place.folder / "pipe", 0o600)
    entries, total = list_dir(place.root, b".", 100)
    assert [entry[0] for entry in entries] == sorted([*names, b"dir", b"link", b"pipe"])
    assert total == 10
    kinds = {entry[0]: entry[1] for entry in entries}
    assert (kinds[b"dir"], kinds[b"link"], kinds[b"pipe"]) == ("dir", "link", "fifo")


def test_a_long_listing_is_cut_and_counted(place: Place) -> None:
    for count in range(50):
        (place.folder / f"{count:02}").touch()
    entries, total = list_dir(place.root, b".", 3)
    assert ([entry[0] for entry in entries], total) == ([b"00", b"01", b"02"], 50)


def test_listing_a_file_is_refused(place: Place) -> None:
    (place.folder / "f").touch()
    assert code(list_dir, place.root, b"f", 10) == "not-a-folder"
