"""What a call printed, in short."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners import Outcome

__all__ = ["tail"]

OUTPUT_BYTES = 4000


def tail(outcome: Outcome) -> str:
    """The end of what was printed, standard output first."""
    text = outcome.stdout.data + outcome.stderr.data
    return text[-OUTPUT_BYTES:].decode("utf-8", "replace")
