"""The log: appending without and with fsync, reading back, verifying."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.row import Row
from harness.record import EventLog, read_events, verify

RECORDS = 20_000
BATCH = 50
CONTENT = "a line of output that a tool may well have printed\n" * 2


def append(log: EventLog, number: int) -> None:
    log.append(
        "tool/result", step=number, call="c1", name="echo", ok=True, content=CONTENT,
        duration_seconds=0.0012,
    )  # fmt: skip


def best_append(path: Path) -> float:
    """Microseconds an append in the quietest batch."""
    best = float("inf")
    with EventLog.create(path, run="bench") as log:
        log.append("run/start")
        for _ in range(RECORDS // BATCH):
            start = time.process_time()  # what others do meanwhile is left out
            for number in range(BATCH):
                append(log, number)
            best = min(best, (time.process_time() - start) / BATCH)
        log.append("run/end", status="completed")
    return best * 1e6


def synced(folder: Path) -> tuple[float, float]:
    """Microseconds of a bare write and fsync, and of an append with fsync, by turns.

    Each goes first as often as the other: what comes second finds a disk that is just busy.
    """
    bare: list[float] = []
    ours: list[float] = []

    def plainly(_: int) -> None:
        os.write(descriptor, b"x" * 400)
        os.fsync(descriptor)

    def timed(work: Callable[[int], None], number: int, taken: list[float]) -> None:
        start = time.perf_counter()
        work(number)
        taken.append(time.perf_counter() - start)

    descriptor = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        with EventLog.create(folder / "synced.jsonl", run="bench", fsync="event") as log:
            log.append("run/start")
            appended = partial(append, log)
            pairs = [(plainly, bare), (appended, ours)]
            for number in range(400):
                for work, taken in pairs if number % 2 else reversed(pairs):
                    timed(work, number, taken)
    finally:
        os.close(descriptor)
    return sorted(bare)[200] * 1e6, sorted(ours)[200] * 1e6


def best_reading(folder: Path) -> tuple[float, float]:
    """MB/s of verifying, milliseconds of reading 1,000 records: the quietest of many."""
    path = folder / "thousand.jsonl"
    with EventLog.create(path, run="bench") as log:
        log.append("run/start")
        for number in range(998):
            append(log, number)
        log.append("run/end", status="completed")
    verified = read = float("inf")
    for _ in range(40):
        start = time.process_time()
        assert verify(path).code == 0
        middle = time.process_time()
        assert sum(1 for _ in read_events(path)) == 1000
        verified = min(verified, middle - start)
        read = min(read, time.process_time() - middle)
    return path.stat().st_size / verified / 1e6, read * 1e3


def main() -> list[Row]:
    """All figures of the log."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "events.jsonl"
        each = best_append(path)
        bare, ours = synced(folder)
        rate, thousand = best_reading(folder)
    return [
        Row("append a record, no fsync", f"{each:.1f} us", "at most 12 us", each <= 12),
        Row(
            "append with fsync beside a bare one",
            f"{ours:.0f} us, {ours / bare:.2f}x of {bare:.0f} us",
            "at most 1.1x and 12 us",
            ours <= bare * 1.1 + 12,
        ),
        Row("verify a log", f"{rate:.0f} MB/s", "at least 25 MB/s", rate >= 25),
        Row("read 1,000 records", f"{thousand:.1f} ms", "at most 30 ms", thousand <= 30),
    ]
