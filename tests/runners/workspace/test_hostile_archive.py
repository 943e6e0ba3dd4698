"""What a box sends may be anything: what is not exactly ours is refused, and nothing escapes."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.errors import ProtocolError
from runners.supervisor import tar
from runners.supervisor.fault import Refusal
from runners.supervisor.unpack import unpack
from runners.workspace import Item, LeftOut, Tree, read_archive


def entry(path: bytes, kind: bytes = tar.FILE, data: bytes = b"", target: bytes = b"") -> bytes:
    head = tar.header(path, kind, 0o644, len(data), target=target)
    return head + data + bytes(-len(data) % 512)


def forged(change: Callable[[bytearray], None], path: bytes = b"f") -> bytes:
    """A header with a field changed and the checksum made right again."""
    block = bytearray(tar.header(path, tar.FILE, 0o644))
    change(block)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def put(at: int, data: bytes) -> Callable[[bytearray], None]:
    def change(block: bytearray) -> None:
        block[at : at + len(data)] = data

    return change


def pax(records: bytes) -> bytes:
    return tar.header(b"p", tar.PAX, 0o644, len(records)) + records + bytes(-len(records) % 512)


def python_tar(**fields: object) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        info = tarfile.TarInfo("x")
        for name, value in fields.items():
            setattr(info, name, value)
        archive.addfile(info)
    return out.getvalue()


HOSTILE = {
    "parent": entry(b"../f"),
    "parent inside": entry(b"a/../../f"),
    "absolute": entry(b"/etc/f"),
    "empty path": entry(b""),
    "empty part": entry(b"a//f"),
    "dot": entry(b"./f"),
    "root": entry(b".", tar.FOLDER),
    "twice": entry(b"f") + entry(b"f"),
    "through a file": entry(b"f") + entry(b"f/g"),
    "through a link": entry(b"l", tar.LINK, target=b"d") + entry(b"l/f"),
    "file over a link": entry(b"l", tar.LINK, target=b"f") + entry(b"l"),
    "link over a file": entry(b"f") + entry(b"f", tar.LINK, target=b"g"),
    "link over a folder": entry(b"f/g") + entry(b"f", tar.LINK, target=b"g"),
    "absolute link": entry(b"l", tar.LINK, target=b"/etc/passwd"),
    "climbing link": entry(b"a/l", tar.LINK, target=b"../../f"),
    "link behind a link": entry(b"l", tar.LINK, target=b"a/b/../../../f"),
    "empty link": entry(b"l", tar.LINK),
    "hard link": python_tar(type=tarfile.LNKTYPE, linkname="/etc/passwd"),
    "device": python_tar(type=tarfile.CHRTYPE),
    "FIFO": python_tar(type=tarfile.FIFOTYPE),
    "sparse": forged(put(156, b"S")),
    "long name": forged(put(156, b"L")),
    "global header": forged(put(156, b"g")),
    "prefix": forged(put(345, b"/etc")),
    "bad checksum": b"g" + tar.header(b"f", tar.FILE, 0o644)[1:],
    "binary number": forged(put(124, b"\x80" + bytes(11))),
    "negative number": forged(put(124, b"-0000000001\0")),
    "no number": forged(put(124, bytes(12))),
    "digit 8": forged(put(124, b"00000000008\0")),
    "name behind NUL": forged(put(0, b"f\0../../etc")),
    "long part": pax(tar.record(b"path", b"p" * 256)) + entry(b"f"),
    "deep": pax(tar.record(b"path", b"/".join([b"d"] * 200))) + entry(b"f"),
    "PAX key": pax(tar.record(b"mtime", b"1")) + entry(b"f"),
    "PAX twice": pax(tar.record(b"path", b"a") * 2) + entry(b"f"),
    "PAX NUL": pax(tar.record(b"path", b"a\0b")) + entry(b"f"),
    "PAX length": pax(b"999 path=a\n") + entry(b"f"),
    "PAX zero": pax(b"0 path=a\n") + entry(b"f"),
    "PAX size": pax(tar.record(b"size", b"-1")) + entry(b"f"),
    "PAX on PAX": pax(tar.record(b"path", b"a")) * 2 + entry(b"f"),
    "PAX huge": tar.header(b"p", tar.PAX, 0o644, 1 << 30),
    "folder with content": tar.header(b"d", tar.FOLDER, 0o755, 512) + bytes(512),
    "too many bytes": tar.header(b"f", tar.FILE, 0o644, 1 << 40),
    "cut": tar.header(b"f", tar.FILE, 0o644, 100) + b"x",
    "not an archive": b"hello" * 300,
    "nothing": b"",
}


def outside(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name not in ("out", "in.tar"))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_and_nothing_lies_outside(tmp_path: Path, name: str) -> None:
    end = b"" if name in ("cut", "nothing") else tar.END
    (tmp_path / "in.tar").write_bytes(HOSTILE[name] + end)
    with pytest.raises(ProtocolError):
        read_archive(tmp_path / "in.tar", tmp_path / "out", limit_bytes=1 << 20)
    assert outside(tmp_path) == []


def test_more_entries_than_the_limit_are_refused(tmp_path: Path) -> None:
    (tmp_path / "in.tar").write_bytes(b"".join(entry(b"%d" % i) for i in range(11)) + tar.END)
    with pytest.raises(ProtocolError, match="more than 10 files"):
        read_archive(tmp_path / "in.tar", tmp_path / "out", limit_bytes=1 << 20, max_files=10)


def test_something_behind_the_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.tar").write_bytes(entry(b"f") + tar.END + entry(b"g"))
    with pytest.raises(ProtocolError, match="follows its end"):
        read_archive(tmp_path / "in.tar", tmp_path / "out", limit_bytes=1 << 20)


def test_setuid_and_odd_owners_and_times_do_not_come_out(tmp_path: Path) -> None:
    data = forged(put(100, b"0006755\0"))
    data = data[:136] + b"77777777777\0" + data[148:]
    block = bytearray(data)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    (tmp_path / "in.tar").write_bytes(bytes(block) + tar.END)
    tree = read_archive(tmp_path / "in.tar", tmp_path / "out", limit_bytes=1 << 20)
    found = (tmp_path / "out" / "f").stat()
    assert (found.st_mode & 0o7777, found.st_uid) == (0o755, os.getuid())
    assert tree.items["f"].mode == 0o755


def test_what_a_box_could_not_pack_is_told(tmp_path: Path) -> None:
    data = entry(b"x", tar.REFUSED, target=b"a FIFO\x1b[31m") + entry(b"y/z", data=b"1")
    (tmp_path / "in.tar").write_bytes(data + tar.END)
    tree = read_archive(tmp_path / "in.tar", tmp_path / "out", limit_bytes=1 << 20)
    digest = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"
    assert tree == Tree({"y/z": Item("file", 0o644, 1, digest)}, (LeftOut("x", "a FIFO\\x1b[31m"),))
    assert (tmp_path / "out" / "y" / "z").read_bytes() == b"1"


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=3000), cut=st.integers(1, 600))
def test_any_bytes_are_an_archive_or_a_refusal(data: bytes, cut: int) -> None:
    """Whatever arrives, in whatever pieces, the reader ends and raises nothing else."""
    pieces = [data[at : at + cut] for at in range(0, len(data), cut)]
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        unpack(root, lambda _: pieces.pop(0) if pieces else b"", 0, 5, wanted=lambda _: False)
    except Refusal:
        pass
    finally:
        os.close(root)


@settings(max_examples=300, deadline=None)
@given(
    at=st.integers(0, 511),
    value=st.integers(0, 255),
    kind=st.sampled_from([tar.FILE, tar.FOLDER, tar.LINK]),
)
def test_a_header_with_one_wrong_byte_never_leads_out(at: int, value: int, kind: bytes) -> None:
    block = bytearray(tar.header(b"a/b", kind, 0o644, target=b"c" if kind == tar.LINK else b""))
    block[at] = value
    if not 148 <= at < 156:
        block[148:156] = b" " * 8
        block[148:156] = b"%06o\0 " % sum(block)
    pieces = [bytes(block), tar.END]
    seen: list[tuple[bytes, str, int, int, bytes]] = []
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        unpack(
            root,
            lambda _: pieces.pop(0) if pieces else b"",
            1 << 20,
            5,
            lambda *note: seen.append(note),
            wanted=lambda _: False,
        )
    except Refusal:
        return
    finally:
        os.close(root)
    for path, what, mode, _, extra in seen:
        assert not path.startswith(b"/")
        assert b".." not in path.split(b"/")
        assert mode <= 0o777
        assert what != "link" or not tar.leads_out(path, extra)
