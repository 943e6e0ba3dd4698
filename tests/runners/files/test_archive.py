"""Packing a root and unpacking into one, in the box."""

from __future__ import annotations

import io
import os
import socket
import tarfile
from pathlib import Path

import pytest

from runners.supervisor import tar
from runners.supervisor.fault import Refusal
from runners.supervisor.pack import pack
from runners.supervisor.unpack import unpack

from .conftest import Place


def packed(root: int, max_bytes: int = 1 << 20, max_entries: int = 1000) -> bytes:
    parts: list[bytes] = []
    pack(root, parts.append, max_bytes, max_entries)
    return b"".join(parts)


def told(data: bytes) -> dict[bytes, tuple[str, bytes]]:
    """Kind and target or reason of every entry of an archive."""
    found: dict[bytes, tuple[str, bytes]] = {}

    def note(path: bytes, kind: str, mode: int, size: int, extra: bytes) -> None:
        found[path] = (kind, extra if kind in ("link", "refused") else b"")

    root = os.open("/", os.O_RDONLY)
    try:
        unpack(root, io.BytesIO(data).read, 1 << 40, 10_000, note, wanted=lambda _: False)
    finally:
        os.close(root)
    return found


def put(place: Place, data: bytes) -> None:
    unpack(place.root, io.BytesIO(data).read, 1 << 20, 1000)


def file(path: bytes, data: bytes, mode: int = 0o644, mtime: int = 0) -> bytes:
    head = tar.header(path, tar.FILE, mode, len(data), mtime)
    return head + data + bytes(-len(data) % 512)


def test_other_programs_read_what_is_packed(place: Place) -> None:
    (place.folder / "d").mkdir()
    (place.folder / "d" / ("n" * 200)).write_bytes(b"long name")
    (place.folder / "run").write_bytes(b"")
    (place.folder / "run").chmod(0o755)
    (place.folder / "l").symlink_to("d")
    os.utime(place.folder / "run", (5, 5))
    with tarfile.open(fileobj=io.BytesIO(packed(place.root))) as archive:
        members = {member.name: member for member in archive}
        content = archive.extractfile("d/" + "n" * 200)
        assert content is not None
        assert content.read() == b"long name"
    assert members.keys() == {"d", "d/" + "n" * 200, "run", "l"}
    assert (members["run"].mode, members["run"].mtime) == (0o755, 5)
    assert (members["l"].issym(), members["l"].linkname) == (True, "d")


def test_what_cannot_travel_is_named_with_its_reason(place: Place) -> None:
    os.mkfifo(place.folder / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place.folder / "socket"))
    (place.folder / "absolute").symlink_to("/etc/passwd")
    (place.folder / "up").symlink_to("../x")
    (place.folder / "sparse").touch()
    os.truncate(place.folder / "sparse", 1 << 40)
    (place.folder / "kept").write_bytes(b"x")
    assert told(packed(place.root)) == {
        b"fifo": ("refused", b"a FIFO"),
        b"socket": ("refused", b"a socket"),
        b"absolute": ("refused", b"a symbolic link that leads out"),
        b"up": ("refused", b"a symbolic link that leads out"),
        b"sparse": ("refused", b"1099511627776 bytes are more than the limit leaves"),
        b"kept": ("file", b""),
    }


def test_a_tree_that_is_too_deep_is_cut_there_and_says_so(place: Place) -> None:
    names = ["d"] * 150
    os.makedirs(place.folder.joinpath(*names))
    deep = told(packed(place.root))
    refused = {path: extra for path, (kind, extra) in deep.items() if kind == "refused"}
    assert refused == {b"/".join([b"d"] * 101): b"deeper than 100 folders"}


def test_a_tree_of_too_many_files_says_that_it_is_not_whole(place: Place) -> None:
    for count in range(20):
        (place.folder / f"{count:02}").touch()
    found = told(packed(place.root, max_entries=10))
    assert found[b"."] == ("refused", b"too many files")
    assert len(found) == 11


def test_odd_names_survive(place: Place) -> None:
    names = [b"new\nline", b"\x1b[31m", b"\xff\xfe", b"-rf", b" ", "é".encode(), b"a\\b", b'"']
    for name in names:
        os.close(os.open(os.fsencode(place.folder) + b"/" + name, os.O_CREAT))
    data = packed(place.root)
    for entry in os.scandir(place.folder):
        os.unlink(entry.path)
    put(place, data)
    assert sorted(map(os.fsencode, os.listdir(place.folder))) == sorted(names)


def test_mode_and_time_are_kept_and_a_huge_time_does_no_harm(place: Place) -> None:
    put(place, file(b"f", b"x", 0o750, 7) + file(b"far", b"", mtime=8**11 - 1) + tar.END)
    found = (place.folder / "f").stat()
    assert (found.st_mode & 0o7777, int(found.st_mtime)) == (0o750, 7)
    assert (place.folder / "far").exists()


def test_unpacking_replaces_files_and_links_and_follows_none(place: Place) -> None:
    (place.folder / "f").symlink_to("../root-secret/secret")
    (place.folder / "d").symlink_to(place.outside)
    (place.folder / "old").write_bytes(b"old")
    put(place, file(b"f", b"1") + file(b"d/secret", b"2") + file(b"old", b"3") + tar.END)
    assert (place.folder / "f").read_bytes() == b"1"
    assert (place.folder / "d" / "secret").read_bytes() == b"2"
    assert (place.folder / "old").read_bytes() == b"3"
    assert (place.outside / "secret").read_bytes() == b"outside"


def test_a_hard_link_in_the_way_is_replaced_not_written_through(place: Place) -> None:
    os.link(place.outside / "secret", place.folder / "f")
    put(place, file(b"f", b"mine") + tar.END)
    assert (place.outside / "secret").read_bytes() == b"outside"


def test_folders_stay_writable_for_their_owner(place: Place) -> None:
    put(place, tar.header(b"d", tar.FOLDER, 0o500) + file(b"d/f", b"x", 0o000) + tar.END)
    assert (place.folder / "d").stat().st_mode & 0o777 == 0o700
    assert (place.folder / "d" / "f").stat().st_mode & 0o777 == 0o400


def test_what_was_not_packed_cannot_be_unpacked_in_a_box(place: Place) -> None:
    with pytest.raises(Refusal, match="was not packed"):
        put(place, tar.header(b"x", tar.REFUSED, 0) + tar.END)


def test_an_archive_may_come_in_any_pieces(place: Place, tmp_path: Path) -> None:
    data = file(b"a/b/" + b"n" * 150, b"content" * 100) + file(b"c", b"") + tar.END
    pieces = [data[at : at + 7] for at in range(0, len(data), 7)]
    unpack(place.root, lambda _: pieces.pop(0) if pieces else b"", 1 << 20, 10)
    assert (place.folder / "a" / "b" / ("n" * 150)).read_bytes() == b"content" * 100
    assert (place.folder / "c").read_bytes() == b""
