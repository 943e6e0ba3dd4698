"""The labels by which our containers and volumes are known, and what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runners.owner import Owner

__all__ = ["LABEL", "LEASE_SECONDS", "Labels"]

LABEL = "stockade.session"
"""Everything we make in an engine carries this label; nothing without it is ever touched."""

LEASE_SECONDS = 60
"""A supervisor that hears nothing for so long ends its box (the harness pings every 10 s)."""


@dataclass(frozen=True, slots=True)
class Labels:
    """What is written on a container.

    Attributes:
        session: id of the session.
        run: id of its run.
        owner: the harness process.
    """

    session: str
    run: str
    owner: Owner

    def mapping(self) -> dict[str, str]:
        """As the engine takes labels."""
        return {
            LABEL: self.session,
            "stockade.run": self.run,
            "stockade.owner": str(self.owner),
            "stockade.lease": str(LEASE_SECONDS),
        }

    @classmethod
    def read(cls, labels: Mapping[str, str]) -> Labels | None:
        """The labels of a container, None when they are not ours or cannot be read."""
        try:
            owner = Owner.parse(labels["stockade.owner"])
            return cls(labels[LABEL], labels["stockade.run"], owner)
        except (KeyError, ValueError):
            return None
