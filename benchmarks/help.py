"""`stockade --help` beside a bare interpreter, interleaved."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.row import Row

ROUNDS = 15
TARGET = 6.0


def milliseconds(argv: list[str]) -> float:
    """How long one start takes."""
    start = time.perf_counter()
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - start) * 1000


def main() -> list[Row]:
    """The median of both, and their ratio."""
    bare = [sys.executable, "-I", "-c", "pass"]
    ours = [str(Path(sys.executable).with_name("stockade")), "--help"]
    pairs = [(milliseconds(bare), milliseconds(ours)) for _ in range(ROUNDS)]
    low, high = (statistics.median(column) for column in zip(*pairs, strict=True))
    figure = f"{high:.0f} ms, {high / low:.1f}x of {low:.0f} ms"
    return [Row("stockade --help", figure, f"at most {TARGET:g}x", high / low <= TARGET)]
