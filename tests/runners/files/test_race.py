"""A program that swaps a folder for a link while we read, write, pack and unpack wins nothing."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from runners.supervisor import path as path_module
from runners.supervisor import tar
from runners.supervisor.fault import Refusal
from runners.supervisor.files import list_dir, read_file, write_file
from runners.supervisor.pack import pack
from runners.supervisor.search import search_text
from runners.supervisor.unpack import unpack

from .conftest import Place

SECONDS = 0.5
RENAME_EXCHANGE = 2


@contextmanager
def swapping(place: Place) -> Iterator[None]:
    """Exchange the folder ``d`` with a link to the outside, as fast as the kernel does it."""
    libc = ctypes.CDLL(None, use_errno=True)
    (place.folder / "d").mkdir()
    (place.folder / "d" / "secret").write_bytes(b"inside")
    (place.folder / "l").symlink_to(place.outside)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            libc.renameat2(place.root, b"d", place.root, b"l", RENAME_EXCHANGE)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def read(place: Place) -> bytes:
    return read_file(place.root, b"d/secret", 0, 100)[0]


def listed(place: Place) -> bytes:
    return b"".join(entry[0] for entry in list_dir(place.root, b"d", 10)[0])


def write(place: Place) -> bytes:
    write_file(place.root, b"d/secret", b"inside", None, None)
    write_file(place.root, b"d/new/deep", b"inside", None, None)
    return b"inside"


def searched(place: Place) -> bytes:
    found = search_text(place.root, b"side", b".", regex=False, glob=b"**", limit=9)
    return b"".join(line for _, _, line in found)


def packed(place: Place) -> bytes:
    parts: list[bytes] = []
    pack(place.root, parts.append, 1 << 20, 100)
    return b"".join(parts)


def unpacked(place: Place) -> bytes:
    pieces = [
        tar.header(b"d/secret", tar.FILE, 0o644, 6) + b"inside" + bytes(506),
        tar.header(b"d/e/f", tar.FILE, 0o644, 6) + b"inside" + bytes(506),
        tar.END,
    ]
    unpack(place.root, lambda _: pieces.pop(0) if pieces else b"", 1 << 20, 100)
    return b"inside"


@pytest.mark.req("S-124")
@pytest.mark.parametrize("act", [read, listed, write, searched, packed, unpacked])
@pytest.mark.parametrize("kernel", [True, False], ids=["openat2", "own walk"])
def test_a_swapped_folder_never_leads_outside(
    place: Place, act: Callable[[Place], bytes], kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kernel and not path_module.has_openat2():
        pytest.skip("this kernel has no openat2")
    monkeypatch.setattr(path_module, "_openat2", kernel)
    done = refused = 0
    end = time.monotonic() + SECONDS
    with swapping(place):
        while time.monotonic() < end:
            try:
                assert b"outside" not in act(place)
                done += 1
            except Refusal:
                refused += 1
    assert done + refused > 0
    assert os.listdir(place.outside) == ["secret"]
    assert (place.outside / "secret").read_bytes() == b"outside"
