"""The files of a log that was rotated: the closed ones in order, then the one that is written."""

from __future__ import annotations

from pathlib import Path

__all__ = ["closed_part", "parts"]


def closed_part(path: Path, number: int) -> Path:
    """The name of a closed part, counted from 1: ``events.000001.jsonl``."""
    return path.with_name(f"{path.stem}.{number:06}{path.suffix}")


def parts(path: Path) -> list[Path]:
    """The files of a log in their order; empty when there is none.

    A part that is missing in the middle is not noticed here, but by the numbers of the records.
    """
    found = sorted(path.parent.glob(f"{path.stem}.{'[0-9]' * 6}{path.suffix}"))
    files = [part for part in found if part.is_file()]  # a pipe might be waited for without end
    return [*files, path] if path.is_file() else files
