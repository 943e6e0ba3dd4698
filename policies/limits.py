"""Limits of a call, budgets of a run, and the order of isolation levels.

Nothing here can be unlimited: a limit nobody set has the default below (decision 14).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, fields

__all__ = ["Budgets", "Isolation", "Limits"]


class Isolation(enum.IntEnum):
    """How strongly a box keeps a program in: ``process < namespace < container < kernel``."""

    PROCESS = 0
    NAMESPACE = 1
    CONTAINER = 2
    KERNEL = 3

    @classmethod
    def parse(cls, text: str) -> Isolation:
        """The level with this lower-case name; ValueError names the choices."""
        try:
            return cls[text.upper()]
        except KeyError:
            known = ", ".join(level.label for level in cls)
            raise ValueError(f"unknown isolation level {text!r}: one of {known}") from None

    @property
    def label(self) -> str:
        """The lower-case name, as policies and reports write it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may use. Every value is a positive number in the unit its name ends with."""

    wall_seconds: float = 60.0
    cpu_seconds: float = 60.0
    memory_mib: int = 1024
    processes: int = 128
    open_files: int = 1024
    file_mib: int = 256
    disk_mib: int = 512
    output_kib: int = 1024

    def least(self, other: Limits) -> Limits:
        """The smaller of each limit."""
        return Limits(
            **{f.name: min(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)}
        )


@dataclass(frozen=True, slots=True)
class Budgets:
    """What one run may spend. ``per_tool`` caps single tools by name."""

    steps: int = 50
    tool_calls: int = 200
    wall_seconds: float = 3600.0
    per_tool: tuple[tuple[str, int], ...] = ()
