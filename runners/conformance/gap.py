"""Known gaps: checks that a box cannot pass, with the reason; each is tried all the same."""

from __future__ import annotations

from collections.abc import Mapping

from runners.contract import Probe

__all__ = ["known_gaps"]

NO_NAMESPACES = "without a mount namespace the workspace lies on a disk of the host"
OWN_USER = "without root nothing takes the bounding set away; no_new_privs makes it moot"

GAPS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("process", "own uid"): {"space-is-limited": NO_NAMESPACES},
    ("process", "landlock"): {
        "a-program-has-no-privileges": OWN_USER,
        "space-is-limited": NO_NAMESPACES,
    },
}


def known_gaps(probe: Probe) -> Mapping[str, str]:
    """What is known to be missing in a box as it was found here."""
    return GAPS.get((probe.name, probe.facts.get("way", "")), {})
