"""Which containers are left over: decided from labels, state and age. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runners.docker.labels import LEASE_SECONDS, Labels

__all__ = ["NAME_PREFIX", "is_leftover"]

NAME_PREFIX = "stockade-"
ABANDONED_SECONDS = 10 * LEASE_SECONDS
"""Longer than any start or end of a box takes, and longer than any lease."""


def is_leftover(container: Mapping[str, Any], now: float) -> bool:
    """Whether a container of the engine's list is ours and nobody's any more.

    A dead owner's container is left over in any state: one that still runs has lost its
    connection, or is about to end. Of an owner that cannot be judged from here (another machine,
    another pid namespace) only what has not run for long, since its own lease ends the rest.
    """
    labels = Labels.read(container.get("Labels") or {})
    if labels is None or not all_named_ours(container):
        return False
    match labels.owner.state():
        case "alive":
            return False
        case "dead":
            return True
        case "unknown":
            age = now - float(container.get("Created", now))
            return container.get("State") != "running" and age > ABANDONED_SECONDS


def all_named_ours(container: Mapping[str, Any]) -> bool:
    """Labels also come from images; the names are given by us alone."""
    names = container.get("Names") or []
    return bool(names) and all(str(name).startswith(f"/{NAME_PREFIX}") for name in names)
