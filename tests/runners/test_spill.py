"""All output of a call in files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from policies import Limits, Pipeline, Stage
from runners import Capture, ProcessRunner, SessionSpec, Spill, Spilled

FLOOD = "import sys; sys.stdout.write('0123456789abcdef' * 200_000); sys.stderr.write('e')"
WHOLE = b"0123456789abcdef" * 200_000


async def test_what_is_not_kept_in_memory_is_in_the_file(tmp_path: Path) -> None:
    limits = Limits(output_kib=64)
    session = await ProcessRunner().open(SessionSpec(run="spill", limits=limits))
    try:
        with Spill(tmp_path, most_mib=8) as spill:
            outcome = await session.run(
                Pipeline((Stage(("python3", "-c", FLOOD)),)), limits=limits, on_output=spill
            )
    finally:
        await session.close()
    assert (tmp_path / "stdout").read_bytes() == WHOLE
    assert (spill.stdout, spill.stderr) == (
        Spilled(tmp_path / "stdout", len(WHOLE), len(WHOLE), hashlib.sha256(WHOLE).hexdigest()),
        Spilled(tmp_path / "stderr", 1, 1, hashlib.sha256(b"e").hexdigest()),
    )
    assert outcome.stdout.kept == ((0, 32 << 10), (len(WHOLE) - (32 << 10), len(WHOLE)))
    assert outcome.stdout.data == WHOLE[: 32 << 10] + WHOLE[-(32 << 10) :]


async def test_beyond_the_most_output_is_counted_and_not_written(tmp_path: Path) -> None:
    with Spill(tmp_path, most_mib=1) as spill:
        for _ in range(3):
            await spill("stdout", bytes(400 << 10))
    found = spill.stdout
    assert (found.size, found.total) == (1 << 20, 1200 << 10)
    assert (tmp_path / "stdout").stat().st_size == 1 << 20
    assert found.sha256 == hashlib.sha256(bytes(1 << 20)).hexdigest()


def test_a_file_that_is_there_already_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "stderr").write_text("mine")
    with pytest.raises(FileExistsError), Spill(tmp_path, most_mib=1):
        pass
    assert (tmp_path / "stderr").read_text() == "mine"


@pytest.mark.parametrize(
    ("capture", "kept"),
    [
        (Capture(), ()),
        (Capture(b"ab", b"", 2), ((0, 2),)),
        (Capture(b"ab", b"yz", 26), ((0, 2), (24, 26))),
        (Capture(b"ab", b"", 26), ((0, 2),)),
        (Capture(b"", b"yz", 26), ((24, 26),)),
    ],
)
def test_a_capture_says_which_bytes_it_keeps(
    capture: Capture, kept: tuple[tuple[int, int], ...]
) -> None:
    assert capture.kept == kept
    assert sum(to - start for start, to in kept) == len(capture.data)
    assert capture.sha256 == hashlib.sha256(capture.data).hexdigest()
