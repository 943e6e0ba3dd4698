"""One line of the benchmark table."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Row"]


@dataclass(frozen=True, slots=True)
class Row:
    """A figure beside its target. ``ok`` is None where the machine could not measure it."""

    what: str
    figure: str
    target: str
    ok: bool | None
